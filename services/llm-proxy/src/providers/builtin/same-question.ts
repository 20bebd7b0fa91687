import type { Passage } from "@parley/rpc/llm";
import { removeAccents } from "./accents.ts";
import { detectLanguage } from "./language.ts";
import { isAskingWord, isInterrogative } from "./question.ts";
import type { SentenceOfPassage } from "./quote.ts";
import { isQuestion, type Sentence, splitSentences } from "./sentences.ts";
import { splitWords } from "./terms.ts";

/** A shorter heading that is no question, such as "Prices", is no question of a visitor either. */
const MIN_HEADING_WORDS = 3;
/** The least share of words that two questions have in common if they are nearly the same word for word. */
const MIN_SHARED = 0.8;

/**
 * Returns the beginning of the answer to a question that is nearly word for word the message: a heading, or a question in the text. Undefined if
 * there is no such question. `sentences` are those of each passage.
 */
export function findSameQuestion(
  message: string,
  passages: readonly Passage[],
  sentences: readonly (readonly Sentence[])[] = passages.map(({ text }) => splitSentences(text)),
): SentenceOfPassage | undefined {
  const compare = compareWith(message);
  for (const [rank, passage] of passages.entries()) {
    const own = sentences[rank] ?? [];
    const heading = passage.heading.split(" > ").at(-1) ?? "";
    const isHeading = (isQuestion(heading) || splitWords(heading).length >= MIN_HEADING_WORDS) && compare(heading);
    const index = own.findIndex(
      (each, at) => !each.isQuestion && ((isHeading && at === 0) || (each.isAnswer && compare(each.question))),
    );
    if (index >= 0) return { passage, sentences: own, index };
  }
  return undefined;
}

/** Returns whether a question differs from the message in few words, and only in words without a meaning of their own, such as "do" and "you". */
function compareWith(message: string): (question: string) => boolean {
  const own = toWords(message);
  const { stopWords } = detectLanguage([...own]);
  const isLight = (word: string) => stopWords.has(word) && !isInterrogative(word) && !isAskingWord(word);
  return (question) => {
    const other = toWords(question);
    const differing = [...own].filter((word) => !other.has(word)).concat([...other].filter((word) => !own.has(word)));
    const shared = (own.size + other.size - differing.length) / (own.size + other.size);
    return shared >= MIN_SHARED && differing.every(isLight);
  };
}

/** Without hyphens, apostrophes and accents: visitors write "email" and "whats". */
function toWords(text: string): Set<string> {
  return new Set(splitWords(removeAccents(text).replace(/(?<=\p{L})[-'’](?=\p{L})/gu, "")));
}
