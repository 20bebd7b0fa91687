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

export type Language = { stopWords: ReadonlySet<string>; stem: (word: string) => string };

function createLanguage(stem: Language["stem"], stops: readonly string[], questionWords?: string): Language {
  return { stem, stopWords: new Set([...stops, ...(questionWords?.split(" ") ?? [])]) };
}

// Words that are frequent in questions but do not name their subject. The imported lists contain few of them.
const QUESTION_WORDS = {
  english:
    "a tell explain describe please know want need show give mean say find use using get got let like long many much far often fast soon something anything everything someone anyone thing things way possible",
  german: "lange viel viele oft schnell bitte gibt geben sagen erklären zeigen wissen möchte brauche etwas jemand",
  french:
    "combien comment pourquoi quand quel quelle quels quelles dire expliquer montrer savoir voudrais besoin chose",
  spanish:
    "cuánto cuánta cuántos cuántas cómo cuándo dónde cuál cuáles decir explicar mostrar saber quiero necesito algo",
};

// The first language wins a tie, so a text without stop words counts as English.
const LANGUAGES: readonly Language[] = [
  createLanguage(english, englishStops, QUESTION_WORDS.english),
  createLanguage(german, germanStops, QUESTION_WORDS.german),
  createLanguage(french, frenchStops, QUESTION_WORDS.french),
  createLanguage(spanish, spanishStops, QUESTION_WORDS.spanish),
  createLanguage(italian, italianStops),
  createLanguage(portuguese, portugueseStops),
  createLanguage(dutch, dutchStops),
  createLanguage(danish, danishStops),
  createLanguage(swedish, swedishStops),
  createLanguage(norwegian, norwegianStops),
  createLanguage(finnish, finnishStops),
  createLanguage(russian, russianStops),
];

/** Returns the language with the most stop words among `words`, which must be in lower case. */
export function detectLanguage(words: readonly string[]): Language {
  const scores = LANGUAGES.map((each) => words.filter((word) => each.stopWords.has(word)).length);
  return LANGUAGES[scores.indexOf(Math.max(...scores))] ?? createLanguage((word) => word, []);
}
