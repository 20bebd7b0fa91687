import { isQuestion } from "../small-talk/index.ts";
import { words } from "./words.ts";

/** Longer messages name their subject. */
const MAX_WORDS = 9;

// "En", "i" and "a" begin ordinary questions in other languages, so they count only before words that rule these languages out.
const CONNECTOR = words(
  `^\\P{L}*(?:and|but|also|what about|how about|und|aber|was ist mit|wie ist es mit|wie sieht es mit|et|mais|qu['’]en est-il|y(?! a[- ]t)|pero|e|ed|mas|maar
|en (?:op|voor|de|het|met|een|als|wat|hoe|waar|wanneer)|[ai] (?:w|we|na|czy|co|jak|ile|kiedy|gdzie|dla|z))(?=[\\s,])`.replaceAll(
    "\n",
    "",
  ),
  "^\\P{L}*(?:じゃあ|では|それ|那|它|ו(?=[בלהמש])|و(?=ماذا|في|ال|كم|متى|أين|هل|يوم|بال|لل))",
);

const ENDING = words(
  "(?:then|instead|too|as well|dann|stattdessen|auch|alors|aussi|entonces|también|allora|anche|invece|então|também|ook|dan|wtedy|też)\\P{L}*$",
);

/** A message whose subject is a pronoun: "How much does it cost?", "Ist er spülmaschinenfest?". "How long does it take to …?" has another subject. */
const PRONOUN = words(
  [
    "(?:is|are|was|were|does|do|did|can|could|will|would|has|have|should|must|about|of|for|with|that|much) (?:it|they|them|(?:that|this) one|(?:that|those|these)(?=(?: \\p{L}+)?\\P{L}*$))(?! (?:possible|allowed|ok|okay|necessary|true|worth|raining|safe to)(?!\\p{L})|['’]s|[^.?!]* to(?!\\p{L}))",
    "(?:combien|quand|où|à quelle heure|jusqu['’]à quand|qu['’]est-ce que)? ?(?:ça|cela)(?= |\\P{L}*$)|^\\P{L}*(?:(?:combien|quand|où|comment) )?(?:coûte|coûtent|est|sont|dure|durent|commence|a|ont)(?:-t)?-(?:il|elle|ils|elles)(?! (?:possible|nécessaire|obligatoire|permis))|^\\P{L}*(?:il|elle|ils|elles) (?!y a|faut|est possible)|c['’]est combien",
    "^\\P{L}*(?:y )?(?:cu[aá]nto|cu[aá]ndo|d[oó]nde) (?:cuesta|cuestan|vale|valen|dura|duran|es|son|empieza)(?: (?:eso|esto|él|ella))?\\P{L}*$",
    "^\\P{L}*(?:quanto|quando|dove) (?:costa|costano|dura|durano|viene|è|sono|inizia)\\P{L}*$",
    "^\\P{L}*(?:quanto|quando|onde) (?:custa|custam|dura|é|são|começa)\\P{L}*$",
    "^\\P{L}*(?:hoeveel|wat|wanneer|waar) (?:kost|kosten|is|zijn|duurt) (?:het|dat|die|deze)\\P{L}*$",
    "^\\P{L}*(?:ile|kiedy|gdzie) (?:to )?(?:kosztuje|kosztują|trwa|jest|są)\\P{L}*$",
  ].join("|"),
);

/** Case matters: "sie" is a pronoun for a thing, and "Sie" the visitor's "you". An article stands before a noun, which is capitalized. */
const GERMAN_PRONOUN = words(
  "(?:[Kk]ostet|[Kk]osten|[Ii]st|[Ss]ind|[Dd]auert|[Dd]auern|[Hh]at|[Hh]aben|[Bb]eginnt|[Gg]ilt|[Gg]elten|[Kk]ann man|mit|für|ohne) (?:er|ihn|ihm|(?:sie|das|die)(?= \\p{Ll}|\\P{L}*$)|(?:es|der|den|ihr)(?=\\P{L}*$))|(?:davon|dafür|dazu|damit|daran|darin)\\P{L}*$",
  undefined,
  "u",
);

/** Whether a message continues the question before it, such as "And on Sunday?" and "How much does it cost?". */
export function isFollowUp(message: string): boolean {
  if ((message.match(/[\p{L}\p{N}]+/gu) ?? []).length > MAX_WORDS) return false;
  return [CONNECTOR, ENDING, PRONOUN, GERMAN_PRONOUN].some((pattern) => pattern.test(message));
}

/**
 * Returns the question that a message continues, such as "When are you open on Saturday?" for "And on Sunday?". Empty if the message stands
 * alone. `earlier` are the visitor's messages before it, newest first. If the question before continues another one, returns both.
 */
export function findContinuedQuestion(message: string, earlier: readonly string[]): string {
  if (!isFollowUp(message)) return "";
  const questions = earlier.filter(isQuestion);
  const start = questions.findIndex((each) => !isFollowUp(each));
  return questions
    .slice(0, start < 0 ? questions.length : start + 1)
    .reverse()
    .join(" ");
}
