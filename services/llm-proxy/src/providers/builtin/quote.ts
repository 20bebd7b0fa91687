import type { Passage } from "@parley/rpc/llm";
import { refersToPrevious } from "./candidates.ts";
import type { Language } from "./language.ts";
import { asksHow } from "./question.ts";
import { joinSentences, MAX_LIST_ITEM_CHARACTERS, type Sentence } from "./sentences.ts";

/** Sentences of one passage that answer a message. */
export type Quote = {
  passage: Passage;
  /** The position of the first sentence in the passage. */
  position: number;
  text: string;
  /** The code that belongs to the sentences; empty for none. */
  code: string;
};

/** Also limits the sentences of a list. */
export const MAX_QUOTE_CHARACTERS = 330;
/** Limits the sentences after the first one of the answer to a question. */
const MAX_ANSWER_CHARACTERS = 260;
const MAX_ANSWER_SENTENCES = 3;
const MAX_CODE_CHARACTERS = 300;

/** One of a passage's sentences. */
export type SentenceOfPassage = { passage: Passage; sentences: readonly Sentence[]; index: number };

/** Quotes a sentence with the sentences that it needs: the one that a pronoun refers to, or the list that follows it. */
export function quoteSentence(place: SentenceOfPassage, message: string, language: Language): Quote {
  const { sentences, index } = place;
  let from = index;
  // A long chain, such as steps that begin with "Then", would displace the sentence itself.
  const fits = () => from === index || lengthOf(sentences.slice(from - 1, index + 1)) <= MAX_QUOTE_CHARACTERS;
  while (from > 0 && refersToPrevious(sentences, from, language) && fits()) from--;
  return quote(place, { from, to: index + 1 }, message);
}

/** Quotes the beginning of an answer: the sentence and those of its paragraph that follow it, up to the next question. Of a list or table, as much as fits. */
export function quoteAnswer(place: SentenceOfPassage, message: string): Quote {
  const { sentences, index } = place;
  let to = index + 1;
  if (isShortParagraph(sentences, index)) {
    while (
      isShortParagraph(sentences, to) &&
      !sentences[to]?.isQuestion &&
      lengthOf(sentences.slice(index, to + 1)) <= MAX_QUOTE_CHARACTERS
    )
      to++;
    return quote(place, { from: index, to }, message);
  }
  const isPart = () =>
    sentences[to]?.startsParagraph === false &&
    sentences[to]?.isQuestion === false &&
    to - index < MAX_ANSWER_SENTENCES &&
    lengthOf(sentences.slice(index, to + 1)) <= MAX_ANSWER_CHARACTERS;
  while (isPart()) to++;
  return quote(place, { from: index, to }, message);
}

/** Whether a sentence is a short paragraph of its own, as a row of a table and an item of a list are. */
function isShortParagraph(sentences: readonly Sentence[], index: number): boolean {
  const sentence = sentences[index];
  return (
    sentence?.startsParagraph === true &&
    sentences[index + 1]?.startsParagraph !== false &&
    sentence.text.length <= MAX_LIST_ITEM_CHARACTERS
  );
}

function quote(
  { passage, sentences, index }: SentenceOfPassage,
  { from, to }: { from: number; to: number },
  message: string,
): Quote {
  let end = to;
  if (/[:：]$/.test(sentences[to - 1]?.text ?? ""))
    while (sentences[end]?.isListItem && lengthOf(sentences.slice(from, end + 1)) <= MAX_QUOTE_CHARACTERS) end++;
  const code = asksHow(message) ? findCode(sentences, index) : "";
  return {
    passage,
    position: from,
    text: joinSentences(sentences.slice(from, end).map(({ text }) => text)),
    code: code.length <= MAX_CODE_CHARACTERS ? code : "",
  };
}

/** Returns the code block that follows a sentence's paragraph; empty for none. */
export function findCode(sentences: readonly Sentence[], index: number): string {
  let last = index;
  while (sentences[last + 1]?.startsParagraph === false) last++;
  return sentences.slice(index, last + 1).find(({ code }) => code !== "")?.code ?? "";
}

export function lengthOf(sentences: readonly Sentence[]): number {
  return sentences.reduce((sum, { text }) => sum + text.length + 1, 0);
}
