import { words } from "./words.ts";

/** A day of the week: 0 for Sunday, as Date.getUTCDay. */
export type Day = number;

/** By Day, in the widget's languages. */
const LONG_NAMES: readonly string[] = [
  "sunday sundays sonntag sonntags dimanche dimanches domingo domingos domenica domeniche zondag zondags niedziela niedzielę niedzieli niedziele الأحد الاحد ראשון",
  "monday mondays montag montags lundi lundis lunes lunedì segunda segundas maandag maandags poniedziałek poniedziałku poniedziałki الاثنين الإثنين שני",
  "tuesday tuesdays dienstag dienstags mardi mardis martes martedì terça terças dinsdag dinsdags wtorek wtorku wtorki الثلاثاء שלישי",
  "wednesday wednesdays mittwoch mittwochs mercredi mercredis miércoles mercoledì quarta quartas woensdag woensdags środa środę środy الأربعاء الاربعاء רביעי",
  "thursday thursdays donnerstag donnerstags jeudi jeudis jueves giovedì quinta quintas donderdag donderdags czwartek czwartku czwartki الخميس חמישי",
  "friday fridays freitag freitags vendredi vendredis viernes venerdì sexta sextas vrijdag vrijdags piątek piątku piątki الجمعة שישי",
  "saturday saturdays samstag samstags sonnabend sonnabends samedi samedis sábado sábados sabato sabati zaterdag zaterdags sobota sobotę soboty السبت שבת",
];
/** By Day. They count only beside another day or before a time, because many are also other words. */
const SHORT_NAMES: readonly string[] = [
  "sun so dim dom zo nd א",
  "mon mo lun seg ma pn ב",
  "tue tues di mar ter wt ג",
  "wed weds mi mer mié qua wo śr ד",
  "thu thur thurs do jeu jue gio qui cz ה",
  "fri fr ven vie sex vr pt ו",
  "sat sa sam sáb sab za sb ש",
];
const WEEKDAYS: readonly Day[] = [1, 2, 3, 4, 5];
const WEEKEND: readonly Day[] = [6, 0];
const WEEK: readonly Day[] = [...WEEKDAYS, ...WEEKEND];
const SETS: readonly { phrases: string; days: readonly Day[] }[] = [
  {
    days: WEEK,
    phrases:
      "daily|every day|each day|7 days|seven days a week|24 / 7|täglich|jeden tag|sieben tage|tous les jours|chaque jour|7 jours|todos los días|cada día|a diario|ogni giorno|tutti i giorni|todos os dias|diariamente|dagelijks|elke dag|codziennie|يوميا|يوميًا|كل يوم|כל יום",
  },
  {
    days: WEEKDAYS,
    phrases:
      "weekday|weekdays|working days|business days|werktag|werktags|wochentags|unter der woche|en semaine|jours ouvrables|entre semana|días laborables|giorni feriali|dias úteis|doordeweeks|werkdagen|dni robocze|w tygodniu",
  },
  {
    days: WEEKEND,
    phrases:
      "weekend|weekends|wochenende|wochenenden|fin de semana|fines de semana|fine settimana|fim de semana|fins de semana|weekendy|نهاية الأسبوع|סוף שבוע|סוף השבוע|סופי שבוע",
  },
];
const RANGE_WORDS = new Set(
  "- – — ~ to through thru until till bis au à a al alla às até tot do إلى الى حتى עד".split(" "),
);
const LIST_WORDS = new Set(", / & + and or und oder et ou y o e ed en of i و ו".split(" "));
/** Words between a range word and a day. */
const SKIPPED = new Set("the le el il la o en met".split(" "));
/** Words between a time and the time that follows it. */
const AFTER_HOUR = new Set(": h - – — uhr to bis am pm uur".split(" "));

type Phrase = { days: readonly Day[]; isShort: boolean };

/** Names of one day and phrases for several, by their words joined by spaces. */
const PHRASES = createPhrases();
/** The number of words of the longest phrase, by its first word. */
const PHRASE_LENGTHS = new Map<string, number>();
for (const phrase of PHRASES.keys()) {
  const [first = "", ...rest] = phrase.split(" ");
  PHRASE_LENGTHS.set(first, Math.max(PHRASE_LENGTHS.get(first) ?? 0, rest.length + 1));
}

function createPhrases(): ReadonlyMap<string, Phrase> {
  const phrases = new Map<string, Phrase>();
  for (const set of SETS)
    for (const phrase of set.phrases.split("|")) phrases.set(phrase, { days: set.days, isShort: false });
  for (const day of WEEK) {
    for (const name of SHORT_NAMES[day]?.split(" ") ?? []) phrases.set(name, { days: [day], isShort: true });
    for (const name of LONG_NAMES[day]?.split(" ") ?? [])
      for (const prefix of prefixesOf(name)) phrases.set(prefix + name, { days: [day], isShort: false });
  }
  return phrases;
}

/** Arabic and Hebrew write "and", "on" and "the" together with the next word. */
function prefixesOf(name: string): string[] {
  if (/\p{Script=Arabic}/u.test(name)) return ["", "و", "ب"];
  return /\p{Script=Hebrew}/u.test(name) ? ["", "ב", "ה", "ל"] : [""];
}

const TOKEN = /[\p{L}\p{M}]+|\p{N}+|[^\s.]/gu;

/** Returns the days of the week that a text names, also as a range or a set: "Mon–Fri", "daily", "am Wochenende". */
export function findDays(text: string): ReadonlySet<Day> {
  const plain = text
    .normalize("NFC")
    .toLowerCase()
    .replace(/['’׳]|-feiras?/g, "")
    .replaceAll("week-end", "weekend")
    .replace(/sonn-(?= )/g, "sonntag")
    .replaceAll("t/m", "tot");
  const tokens = plain.match(TOKEN) ?? [];
  const days = new Set<Day>();
  for (let index = 0; index < tokens.length; ) {
    const phrase = readPhrase(tokens, index);
    index += phrase?.length ?? 1;
    if (phrase === undefined) continue;
    const next = readNextDays(tokens, index, phrase);
    if (next !== undefined) for (const day of next) days.add(day);
    else if (!phrase.isShort || isBeforeTime(tokens, index)) for (const day of phrase.days) days.add(day);
  }
  for (const day of findHanDays(plain)) days.add(day);
  return days;
}

/** Returns the longest phrase that begins at a token. */
function readPhrase(tokens: readonly string[], index: number): (Phrase & { length: number }) | undefined {
  for (let length = PHRASE_LENGTHS.get(tokens[index] ?? "") ?? 0; length > 0; length--) {
    const phrase = PHRASES.get(tokens.slice(index, index + length).join(" "));
    if (phrase !== undefined) return { ...phrase, length };
  }
  return undefined;
}

/** Returns the days of a range or list that begins with `first`, whose next token is at `index`; undefined if it stands alone. */
function readNextDays(tokens: readonly string[], index: number, first: Phrase): readonly Day[] | undefined {
  const word = tokens[index] ?? "";
  const isRange = RANGE_WORDS.has(word);
  if (!isRange && !LIST_WORDS.has(word)) return undefined;
  let at = index + 1;
  while (SKIPPED.has(tokens[at] ?? "")) at++;
  const last = readPhrase(tokens, at);
  if (last === undefined) return undefined;
  if (isRange) return daysBetween(first.days[0] ?? 0, last.days[0] ?? 0);
  return last.isShort === first.isShort ? [...first.days, ...last.days] : undefined;
}

function daysBetween(first: Day, last: Day): Day[] {
  return Array.from({ length: ((last - first + 7) % 7) + 1 }, (_, index) => (first + index) % 7);
}

function isBeforeTime(tokens: readonly string[], index: number): boolean {
  const next = tokens[index] ?? "";
  return next === ":" || (/^\p{N}{1,2}$/u.test(next) && AFTER_HOUR.has(tokens[index + 1] ?? ""));
}

const HAN_SETS: readonly { pattern: RegExp; days: readonly Day[] }[] = [
  { pattern: /毎日|每天|每日/u, days: WEEK },
  { pattern: /平日|工作日/u, days: WEEKDAYS },
  { pattern: /[週周]末/u, days: WEEKEND },
];
/** Chinese and Japanese have no spaces between words. */
const HAN_DAY =
  /(?:星期|[周週]|礼拜|禮拜)(?<zh>[一二三四五六日天])|(?<=[至到][周週]?)(?<until>[一二三四五六日])|(?<ja>[日月火水木金土])(?=曜|[〜～~・、–-][日月火水木金土])|(?<=[日月火水木金土][〜～~・、–-])(?<end>[日月火水木金土])/gu;
const HAN_RANGE = /^(?:曜日?|日)?\s*(?:から|至|到|[〜～~–-])\s*$/u;

function findHanDays(text: string): Day[] {
  if (!/\p{Script=Han}/u.test(text)) return [];
  const found = HAN_SETS.flatMap(({ pattern, days }) => (pattern.test(text) ? days : []));
  let before: { day: Day; end: number } | undefined;
  for (const match of text.matchAll(HAN_DAY)) {
    const { zh, until, ja, end } = match.groups ?? {};
    const day = "日一二三四五六".indexOf((zh ?? until ?? "").replace("天", "日") || "?");
    const either = day >= 0 ? day : "日月火水木金土".indexOf(ja ?? end ?? "");
    const isRange = before !== undefined && HAN_RANGE.test(text.slice(before.end, match.index));
    found.push(...(isRange && before ? daysBetween(before.day, either) : [either]));
    before = { day: either, end: match.index + match[0].length };
  }
  return found;
}

// "Morgen" and "mañana" are also "morning".
const RELATIVE_DAYS: readonly { pattern: RegExp; offset: number }[] = [
  {
    offset: 2,
    pattern: words(
      "day after tomorrow|übermorgen|après-demain|pasado mañana|dopodomani|depois de amanhã|overmorgen|pojutrze|بعد غد|מחרתיים",
      "明後日|あさって|後天|后天",
    ),
  },
  {
    offset: 1,
    pattern: words(
      "tomorrow|(?<!(?:am|guten|jeden|diesen|'s) )morgen|demain|(?<!(?:la|esta|una) )mañana|domani|amanhã|jutro|غدا|غدًا|غداً|بكرة|מחר",
      "明日|あした|明天",
    ),
  },
  {
    offset: 0,
    pattern: words(
      "today|tonight|this (?:morning|afternoon|evening)|heute|aujourd['’]hui|ce (?:soir|matin)|cet après-midi|hoy|esta (?:noche|tarde|mañana)|oggi|stasera|stamattina|hoje|vandaag|vanavond|dziś|dzisiaj|اليوم|היום",
      "今日|きょう|今夜|今天|今晚",
    ),
  },
];
const NOW = words(
  "now|right now|at the moment|currently|still|jetzt|gerade|momentan|zurzeit|noch|maintenant|en ce moment|actuellement|encore|ahora|todavía|adesso|ora|ancora|agora|ainda|nu|nog|teraz|jeszcze|الآن|عכשיו|עכשיו|עדיין",
  "今|现在|現在",
);
/** "Now" asks for a day only beside these: "Are you open now?", but not "My parcel is late, what now?". */
const OPEN = words(
  "open|opened|closed|available|offen|geöffnet|auf|zu|geschlossen|besetzt|erreichbar|ouvert\\p{L}*|fermé\\p{L}*|abiert\\p{L}*|cerrad\\p{L}*|apert\\p{L}*|chius\\p{L}*|abert\\p{L}*|fechad\\p{L}*|gesloten|otwart\\p{L}*|czynn\\p{L}*|zamknięt\\p{L}*|مفتوح\\p{L}*|مغلق\\p{L}*|פתוח\\p{L}*|סגור\\p{L}*",
  "開|开|営業|营业|關|关|閉",
);

/** Returns the days that a message asks about: those that it names, or otherwise today or tomorrow in a time zone, if it says so. */
export function findAskedDays(message: string, timeZone: string, now: Date): ReadonlySet<Day> {
  const named = findDays(message);
  const relative = findRelativeDay(message, timeZone, now);
  return named.size > 0 || relative === undefined ? named : new Set([relative]);
}

/** Whether a word says which day: "Sunday" or "today". */
export function isDayWord(word: string): boolean {
  return NOW.test(word) || RELATIVE_DAYS.some(({ pattern }) => pattern.test(word)) || findDays(word).size > 0;
}

/** Returns the names, in all languages, of the day that a message calls "today" or "tomorrow". Empty if it does not. */
export function listNamesOfRelativeDay(message: string, timeZone: string, now: Date): string[] {
  const day = findRelativeDay(message, timeZone, now);
  return day === undefined ? [] : (LONG_NAMES[day]?.split(" ") ?? []);
}

function findRelativeDay(message: string, timeZone: string, now: Date): Day | undefined {
  const text = message.normalize("NFC");
  const offset =
    RELATIVE_DAYS.find(({ pattern }) => pattern.test(text))?.offset ??
    (OPEN.test(text) && NOW.test(text) ? 0 : undefined);
  return offset === undefined ? undefined : (dayIn(timeZone, now) + offset) % 7;
}

function dayIn(timeZone: string, now: Date): Day {
  const name = new Intl.DateTimeFormat("en", { timeZone, weekday: "long" }).format(now).toLowerCase();
  return LONG_NAMES.findIndex((names) => names.startsWith(name));
}
