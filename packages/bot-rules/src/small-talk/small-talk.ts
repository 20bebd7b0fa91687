/** What a message of small talk does. `human` asks whether the bot is a human. */
export type SmallTalkKind = "greeting" | "thanks" | "goodbye" | "acknowledgement" | "human";
type Phrase = { text: string; kind: SmallTalkKind | "filler"; language: string };

/** If a message has phrases of several kinds, the first of these decides. */
const KINDS: readonly SmallTalkKind[] = ["human", "goodbye", "thanks", "greeting", "acknowledgement"];

const PHRASES: Record<string, Partial<Record<SmallTalkKind | "filler", string>>> = {
  en: {
    greeting: "hi|hello|hey|hiya|howdy|greetings|good morning|good afternoon|good evening|good day|how are you",
    thanks: "thanks|thank you|thx|ty|cheers|many thanks|that helped|that helps",
    goodbye: "bye|bye bye|goodbye|see you|see you later|have a nice day|good night",
    acknowledgement:
      "ok|okay|k|cool|great|good|perfect|fine|nice|got it|i see|understood|alright|all right|yes|no|sure|super",
    human:
      "are you a human|are you human|are you a person|are you a real person|are you real|are you a bot|are you a robot|are you an ai|am i talking to a human|am i talking to a bot|who are you|what are you|is this a bot|is this a human",
    filler:
      "there|very much|so much|a lot|again|everyone|all|for your help|for the help|for now|and|please|or|a bot|a human|or a human|or a bot",
  },
  de: {
    greeting: "hallo|moin|servus|guten tag|guten morgen|guten abend|grüß gott|grüezi|wie geht's|wie geht es ihnen",
    thanks: "danke|vielen dank|dankeschön|danke schön|herzlichen dank|besten dank|danke sehr",
    goodbye: "tschüss|tschüß|auf wiedersehen|bis bald|bis dann|schönen tag|schönen tag noch|gute nacht",
    acknowledgement: "alles klar|verstanden|gut|sehr gut|prima|toll|passt|ja|nein|genau|in ordnung",
    human:
      "bist du ein mensch|sind sie ein mensch|bist du ein bot|sind sie ein bot|bist du ein roboter|sind sie ein roboter|wer bist du|wer sind sie|spreche ich mit einem menschen",
    filler: "für die hilfe|für ihre hilfe|sehr|schön|zusammen|oder ein bot|oder ein mensch",
  },
  fr: {
    greeting: "bonjour|bonsoir|salut|coucou|ça va|comment allez-vous|comment ça va",
    thanks: "merci|merci beaucoup|merci bien|mille mercis",
    goodbye: "au revoir|à bientôt|bonne journée|bonne soirée|bonne nuit|adieu",
    acknowledgement: "d'accord|compris|très bien|parfait|super|bien|oui|non|entendu|génial",
    human:
      "êtes-vous un humain|êtes-vous humain|es-tu un humain|es-tu humain|êtes-vous un robot|es-tu un robot|qui êtes-vous|qui es-tu|vous êtes un robot|tu es un robot|vous êtes humain",
    filler: "beaucoup|à vous|pour votre aide|pour l'aide|et|madame|monsieur",
  },
  es: {
    greeting: "hola|buenos días|buenas tardes|buenas noches|buenas|qué tal|cómo está",
    thanks: "gracias|muchas gracias|mil gracias",
    goodbye: "adiós|hasta luego|hasta pronto|chao|nos vemos",
    acknowledgement: "vale|de acuerdo|entendido|muy bien|bien|perfecto|genial|sí|no|claro",
    human:
      "es usted humano|eres humano|eres una persona|es usted una persona|eres un robot|es usted un robot|eres un bot|quién eres|quién es usted|hablo con una persona",
    filler: "por la ayuda|por su ayuda|por tu ayuda|y|muy amable",
  },
  it: {
    greeting: "ciao|salve|buongiorno|buon giorno|buonasera|buona sera|come va|come sta",
    thanks: "grazie|grazie mille|molte grazie|tante grazie",
    goodbye: "arrivederci|a presto|buona giornata|buona serata|buonanotte",
    acknowledgement: "va bene|capito|d'accordo|perfetto|bene|ottimo|sì|certo",
    human:
      "sei umano|sei una persona|lei è una persona|sei un robot|sei un bot|chi sei|lei è umano|parlo con una persona",
    filler: "per l'aiuto|mille|a lei|e",
  },
  pt: {
    greeting: "olá|oi|bom dia|boa tarde|boa noite|tudo bem|como está",
    thanks: "obrigado|obrigada|muito obrigado|muito obrigada",
    goodbye: "tchau|adeus|até logo|até breve|até mais",
    acknowledgement: "certo|entendi|está bem|tá bom|perfeito|ótimo|sim|não|muito bem",
    human: "você é humano|você é uma pessoa|és humano|você é um robô|és um robô|quem é você|quem és|você é um bot",
    filler: "pela ajuda|e",
  },
  nl: {
    greeting: "hallo|hoi|goedemorgen|goedemiddag|goedenavond|goedendag|dag|hoe gaat het",
    thanks: "dank u|dank je|dank u wel|dank je wel|bedankt|hartelijk dank",
    goodbye: "tot ziens|doei|tot later|fijne dag",
    acknowledgement: "oké|begrepen|goed|prima|ja|nee|mooi|in orde",
    human: "bent u een mens|ben je een mens|ben je een robot|bent u een robot|wie ben je|wie bent u|ben je een bot",
    filler: "voor de hulp|hoor|allemaal",
  },
  pl: {
    greeting: "cześć|dzień dobry|dobry wieczór|witam|hej|witaj",
    thanks: "dziękuję|dzięki|dziękuję bardzo|bardzo dziękuję|wielkie dzięki",
    goodbye: "do widzenia|pa|na razie|do zobaczenia|miłego dnia|dobranoc",
    acknowledgement: "dobrze|rozumiem|jasne|świetnie|super|tak|nie|w porządku",
    human: "czy jesteś człowiekiem|jesteś człowiekiem|jesteś botem|czy jesteś botem|kim jesteś|czy jesteś robotem",
    filler: "bardzo|za pomoc",
  },
  ar: {
    greeting: "مرحبا|مرحبًا|أهلا|أهلًا|السلام عليكم|صباح الخير|مساء الخير",
    thanks: "شكرا|شكرًا|شكرا جزيلا|شكرًا جزيلًا|شكرا لك",
    goodbye: "مع السلامة|وداعا|وداعًا|إلى اللقاء",
    acknowledgement: "حسنا|حسنًا|تمام|طيب|نعم|لا|ممتاز",
    human: "هل أنت إنسان|هل انت انسان|هل أنت روبوت|من أنت|هل أنت بشر",
  },
  he: {
    greeting: "שלום|היי|הי|בוקר טוב|ערב טוב|מה שלומך",
    thanks: "תודה|תודה רבה|המון תודה",
    goodbye: "להתראות|ביי|יום טוב|לילה טוב",
    acknowledgement: "בסדר|אוקיי|הבנתי|מצוין|כן|לא|טוב",
    human: "האם אתה אדם|אתה אדם|אתה בן אדם|אתה בוט|אתה רובוט|מי אתה",
  },
  ja: {
    greeting: "こんにちは|こんばんは|おはよう|おはようございます|はじめまして|もしもし",
    thanks: "ありがとう|ありがとうございます|ありがとうございました|どうもありがとう|どうも",
    goodbye: "さようなら|またね|じゃあね|失礼します",
    acknowledgement: "はい|いいえ|わかりました|了解|了解です|なるほど|オーケー",
    human: "あなたは人間ですか|人間ですか|ロボットですか|あなたはロボットですか|あなたは誰ですか",
  },
  zh: {
    greeting: "你好|您好|早上好|下午好|晚上好|嗨|哈喽",
    thanks: "谢谢|谢谢你|谢谢您|多谢|非常感谢",
    goodbye: "再见|拜拜|回头见",
    acknowledgement: "好的|好|明白了|知道了|可以|是的|不是|行",
    human: "你是人吗|你是真人吗|你是机器人吗|您是真人吗|你是谁|您是机器人吗",
  },
  "zh-hant": {
    greeting: "早安|午安|晚安|哈囉",
    thanks: "謝謝|謝謝你|謝謝您|多謝|非常感謝",
    goodbye: "再見|掰掰",
    acknowledgement: "了解|知道了|沒問題",
    human: "你是人嗎|你是真人嗎|你是機器人嗎|您是真人嗎|你是誰|您是機器人嗎",
  },
};

/** By the first character, the longest first. Phrases of several languages, such as "hallo", belong to the first. */
const PHRASES_BY_CHARACTER = Map.groupBy(
  Object.entries(PHRASES)
    .flatMap(([language, kinds]) =>
      Object.entries(kinds).flatMap(([kind, list]) =>
        list.split("|").map((text): Phrase => ({ text: normalize(text), kind: kind as Phrase["kind"], language })),
      ),
    )
    .sort((one, other) => other.text.length - one.text.length),
  ({ text }) => text.charAt(0),
);

/** Longer messages are not small talk. */
const MAX_CHARACTERS = 80;

/** Returns what a message does, and the code of its language, if it only greets, thanks and the like. */
export function detectSmallTalk(message: string): { kind: SmallTalkKind; language: string } | undefined {
  if (message.length > MAX_CHARACTERS) return undefined;
  const found = readPhrases(normalize(message));
  const kind = KINDS.find((each) => found.some((phrase) => phrase.kind === each));
  const phrase = found.find((each) => each.kind === kind);
  return kind && phrase && { kind, language: phrase.language };
}

/** Returns the phrases that make up a text; none if any part of it is not such a phrase. */
function readPhrases(text: string): Phrase[] {
  const found: Phrase[] = [];
  let rest = text;
  while (rest !== "") {
    const phrase = PHRASES_BY_CHARACTER.get(rest.charAt(0))?.find((each) => startsWithPhrase(rest, each.text));
    if (phrase === undefined) return [];
    found.push(phrase);
    rest = rest.slice(phrase.text.length).trimStart();
  }
  return found;
}

/** Chinese and Japanese have no spaces between words. */
function startsWithPhrase(text: string, phrase: string): boolean {
  if (!text.startsWith(phrase)) return false;
  return text.length === phrase.length || text[phrase.length] === " " || /\p{Lo}$/u.test(phrase);
}

function normalize(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/[^\p{L}\p{M}\p{N}'\s-]/gu, " ")
    .replace(/\s+/g, " ")
    .trim();
}
