import { expandShortForms } from "@parley/bot-rules/questions";
import type { Passage } from "@parley/rpc/llm";
import { removeAccents, toWordSet } from "./accents.ts";
import { detectLanguage } from "./language.ts";
import { isAskingWord, isInterrogative } from "./question.ts";
import type { SentenceOfPassage } from "./quote.ts";
import { isQuestion, type Sentence, splitSentences } from "./sentences.ts";
import { splitWords } from "./terms.ts";

/** A shorter heading that is no question, such as "Prices", is no question of a visitor either. */
const MIN_HEADING_WORDS = 3;
/** The least share of words that two questions have in common if they are nearly the same word for word. */
const MIN_SHARED = 0.8;
/** A shorter message that only asks, such as "Why?" or "Really?", is about what was said before, which no document knows. */
const MIN_WORDS_THAT_ASK = 3;

/** Stop words on which the answer depends: "after my arrival" and "before my arrival". Words that are light in another language, such as "do", are left out. */
const DECISIVE_WORDS = toWordSet(
  `not no nor cannot must should without before after until during between above below over under up down out off from against more most few only other often soon
  nicht nichts kein keine keinem keinen keiner keines ohne nach unter über gegen nur während aus weg zwischen muss soll sollte oft schnell andere anderen
  pas sans
  sin nunca antes hasta desde durante sobre bajo arriba debajo encima delante detrás solo sólo más menos mayor otro otra otros otras dos tres cuatro cinco seis siete ocho
  primer primero primera segundo segunda tercera nuevo nueva nuevos nuevas última último hoy ayer tarde temprano
  non contro più da dal dalla
  não nem sem depois até só mais entre
  niet geen niets zonder na tegen onder
  inte icke ej utan efter ikke uden ei eivät
  не нет без до после над под от из только
  nie od tylko`.split(/\s+/),
);

/**
 * Returns the beginning of the answer to the question that is nearly word for word the message, and the most similar to it: a heading, or a question
 * in the text. Undefined if there is no such question. `sentences` are those of each passage.
 */
export function findSameQuestion(
  message: string,
  passages: readonly Passage[],
  sentences: readonly (readonly Sentence[])[] = passages.map(({ text }) => splitSentences(text)),
): SentenceOfPassage | undefined {
  const compare = compareWith(message);
  let best: SentenceOfPassage | undefined;
  let mostShared = 0;
  for (const [rank, passage] of passages.entries()) {
    const own = sentences[rank] ?? [];
    const heading = passage.heading.split(" > ").at(-1) ?? "";
    const isAsking = isQuestion(heading) || splitWords(heading).length >= MIN_HEADING_WORDS;
    const sharedByHeading = isAsking ? compare(heading) : 0;
    for (const [index, sentence] of own.entries()) {
      if (sentence.isQuestion) continue;
      const shared = Math.max(index === 0 ? sharedByHeading : 0, sentence.isAnswer ? compare(sentence.question) : 0);
      if (shared <= mostShared && !(shared === mostShared && isEarlierPart(passage, best?.passage))) continue;
      best = { passage, sentences: own, index };
      mostShared = shared;
    }
  }
  return best;
}

/** Whether a passage precedes another one of the same section, which is too long for one passage. */
function isEarlierPart({ id, sourceId, heading }: Passage, other: Passage | undefined): boolean {
  return other?.sourceId === sourceId && other.heading === heading && id < other.id;
}

/**
 * Returns the share of words that a question has in common with the message. Returns 0 if it is too small, or if they differ in a word with a meaning
 * of its own, unlike "do" and "you".
 */
function compareWith(message: string): (question: string) => number {
  const ownWords = toWords(message);
  const own = new Set(ownWords);
  const { stopWords } = detectLanguage(ownWords);
  const asks = (word: string) => isInterrogative(word) || isAskingWord(word);
  const isLight = (word: string) => stopWords.has(word) && !asks(word) && !DECISIVE_WORDS.has(word);
  if (own.size < MIN_WORDS_THAT_ASK && [...own].every((word) => stopWords.has(word) || asks(word))) return () => 0;
  /** Returns each decisive word with the word that it belongs to: "from A to B" is not "from B to A". */
  const toDecisivePairs = (words: readonly string[]) =>
    words.flatMap((word, index) =>
      DECISIVE_WORDS.has(word) ? [`${word} ${words.slice(index + 1).find((next) => !stopWords.has(next))}`] : [],
    );
  const ownPairs = new Set(toDecisivePairs(ownWords));
  return (question) => {
    const otherWords = toWords(question);
    const other = new Set(otherWords);
    if (toDecisivePairs(otherWords).some((pair) => !ownPairs.has(pair))) return 0;
    const differing = [...own].filter((word) => !other.has(word)).concat([...other].filter((word) => !own.has(word)));
    const shared = (own.size + other.size - differing.length) / (own.size + other.size);
    return shared >= MIN_SHARED && differing.every(isLight) ? shared : 0;
  };
}

/** Without hyphens, apostrophes and accents, and with short forms written out: visitors write "email" and "whats". */
function toWords(text: string): string[] {
  const joined = removeAccents(text).replace(/(?<=\p{L})[-'’](?=\p{L})/gu, "");
  return splitWords(expandShortForms(joined));
}
