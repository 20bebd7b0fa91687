import { stemmer as danish } from "@orama/stemmers/danish";
import { stemmer as dutch } from "@orama/stemmers/dutch";
import { stemmer as english } from "@orama/stemmers/english";
import { stemmer as finnish } from "@orama/stemmers/finnish";
import { stemmer as french } from "@orama/stemmers/french";
import { stemmer as german } from "@orama/stemmers/german";
import { stemmer as italian } from "@orama/stemmers/italian";
import { stemmer as norwegian } from "@orama/stemmers/norwegian";
import { stemmer as portuguese } from "@orama/stemmers/portuguese";
import { stemmer as russian } from "@orama/stemmers/russian";
import { stemmer as spanish } from "@orama/stemmers/spanish";
import { stemmer as swedish } from "@orama/stemmers/swedish";
import { stopwords as danishStops } from "@orama/stopwords/danish";
import { stopwords as dutchStops } from "@orama/stopwords/dutch";
import { stopwords as englishStops } from "@orama/stopwords/english";
import { stopwords as finnishStops } from "@orama/stopwords/finnish";
import { stopwords as frenchStops } from "@orama/stopwords/french";
import { stopwords as germanStops } from "@orama/stopwords/german";
import { stopwords as italianStops } from "@orama/stopwords/italian";
import { stopwords as norwegianStops } from "@orama/stopwords/norwegian";
import { stopwords as portugueseStops } from "@orama/stopwords/portuguese";
import { stopwords as russianStops } from "@orama/stopwords/russian";
import { stopwords as spanishStops } from "@orama/stopwords/spanish";
import { stopwords as swedishStops } from "@orama/stopwords/swedish";
import { toWordSet } from "./accents.ts";

export type Language = {
  /** ISO 639-1. */
  code: string;
  stopWords: ReadonlySet<string>;
  stem: (word: string) => string;
  /** Whether all nouns begin with a capital letter. */
  hasCapitalNouns: boolean;
};

function createLanguage(
  code: string,
  stem: Language["stem"],
  stops: readonly string[],
  questionWords?: string,
): Language {
  return {
    code,
    stem,
    stopWords: toWordSet([...stops, ...(questionWords?.split(" ") ?? [])]),
    hasCapitalNouns: code === "de",
  };
}

// Words that are frequent in questions but do not name their subject. The imported lists contain few of them.
const QUESTION_WORDS = {
  english:
    "a tell explain describe please know want need show give mean say find use using get got let like long many much far often fast soon something anything everything someone anyone thing things way possible",
  german: "lange viel viele oft schnell bitte gibt geben sagen erklären zeigen wissen möchte brauche etwas jemand",
  french:
    "combien comment pourquoi quand quel quelle quels quelles dire expliquer montrer savoir voudrais besoin chose a ai as avons avez ont va vais vont",
  spanish:
    "cuánto cuánta cuántos cuántas cómo cuándo dónde cuál cuáles decir explicar mostrar saber quiero necesito algo",
};

/** Words of the imported list that name the subject of many questions. */
const SPANISH_SUBJECTS = new Set(
  "llevar lleva fuera dentro lejos cerca trabajo empleo trabajar cuenta después luego".split(" "),
);

// The package has neither stop words nor a stemmer for Polish.
const POLISH_STOPS =
  "i a w z na do się nie to jest czy jak ile kiedy gdzie kto co po od za o u dla przez przy są mam masz macie mogę można może jaki jaka jakie który która które ten ta te tego tej ale lub już tylko";

// The first language wins a tie, so a text without stop words counts as English.
const ENGLISH = createLanguage("en", english, englishStops, QUESTION_WORDS.english);
const LANGUAGES: readonly Language[] = [
  ENGLISH,
  createLanguage("de", german, germanStops, QUESTION_WORDS.german),
  createLanguage("fr", french, frenchStops, QUESTION_WORDS.french),
  createLanguage(
    "es",
    spanish,
    spanishStops.filter((word) => !SPANISH_SUBJECTS.has(word)),
    QUESTION_WORDS.spanish,
  ),
  createLanguage("it", italian, italianStops),
  createLanguage("pt", portuguese, portugueseStops),
  createLanguage("nl", dutch, dutchStops),
  createLanguage("da", danish, danishStops),
  createLanguage("sv", swedish, swedishStops),
  createLanguage("no", norwegian, norwegianStops),
  createLanguage("fi", finnish, finnishStops),
  createLanguage("ru", russian, russianStops),
  createLanguage("pl", (word) => word, POLISH_STOPS.split(" ")),
];

/** Returns the codes of the languages with the most stop words among `words`, which must be in lower case. Empty if there are none. */
export function detectLanguages(words: readonly string[]): ReadonlySet<string> {
  const counts = countStopWords(words).filter(({ count }, _, [best]) => count > 0 && count === best?.count);
  return new Set(counts.map(({ language }) => language.code));
}

/** Returns the language with the most stop words among `words`, which must be in lower case. */
export function detectLanguage(words: readonly string[]): Language {
  return countStopWords(words)[0]?.language ?? ENGLISH;
}

/** Returns the languages with the number of their stop words among `words`, the most first. */
function countStopWords(words: readonly string[]): { language: Language; count: number }[] {
  return LANGUAGES.map((language) => ({
    language,
    count: words.filter((word) => language.stopWords.has(word)).length,
  })).sort((one, other) => other.count - one.count);
}

/** Characters that only traditional Chinese uses, among the most frequent ones. */
const TRADITIONAL = /[個們這會來時國說對麼嗎還開關買賣錢價費運點訂單發貨電話號碼裡務員問題謝請沒給]/u;

/**
 * Returns the code of the language in which to reply to a message: by its script or its stop words. A message without stop words, such as a
 * single name, gets the language of the passages.
 */
export function detectReplyLanguage(
  message: string,
  words: readonly string[],
  passageWords: readonly string[],
): string {
  if (/\p{Script=Hebrew}/u.test(message)) return "he";
  if (/\p{Script=Arabic}/u.test(message)) return "ar";
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(message)) return "ja";
  if (/\p{Script=Han}/u.test(message)) return TRADITIONAL.test(message) ? "zh-hant" : "zh";
  const ofPassages = detectLanguage(passageWords).code;
  const counts = countStopWords(words);
  const best = counts
    .filter(({ count }) => count > 0 && count === counts[0]?.count)
    .map(({ language }) => language.code);
  return best.includes(ofPassages) ? ofPassages : (best[0] ?? ofPassages);
}
