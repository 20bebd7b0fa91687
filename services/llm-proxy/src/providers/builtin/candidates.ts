import { type Day, findDays } from "@parley/bot-rules/questions";
import type { Passage } from "@parley/rpc/llm";
import type { Language } from "./language.ts";
import { findNames } from "./lexicon.ts";
import { asksAboutAnything } from "./question.ts";
import { isQuestion, type Sentence } from "./sentences.ts";
import { extractTerms } from "./terms.ts";

/** The share of the words of a heading's question that the message must contain. */
const MIN_SHARED_QUESTION = 0.6;

/** By language. A sentence that begins with one of these, such as "they" or "after that", refers to the sentence before it. */
const PRONOUNS: Record<string, RegExp> = {
  en: /^(?:it|they|this|these|that|those|he|she|(?:after|before|until|from) (?:that|then)|then|otherwise|in that case)(?!\p{L})/iu,
  de: /^(?:er|dies\p{L}*|danach|davor|dann|sonst|ansonsten|andernfalls|darüber hinaus)(?!\p{L})/iu,
  fr: /^(?:il(?! y a| faut)|elle|ils|elles|cela|celle-ci|celui-ci|ensuite|sinon|au-delà(?! d)|dans ce cas)(?!\p{L})/iu,
  es: /^(?:él|ella|ellos|ellas|esto|este|esta|estos|estas|después(?! de)|de lo contrario|en ese caso)(?!\p{L})/iu,
  it: /^(?:esso|essa|questo|questa|questi|queste|ciò|poi|in seguito(?! a)|altrimenti|in tal caso)(?!\p{L})/iu,
  pt: /^(?:ele|ela|eles|elas|isto|este|esta)(?!\p{L})/iu,
  nl: /^(?:hij|zij|dit|deze)(?!\p{L})/iu,
};

/** Where words of a question can occur: in the sentence, its heading, the sentence before it, or the outer headings and the document's name. */
export type Place = "sentence" | "heading" | "previous" | "title";

/** A sentence that may answer. */
export type Candidate = {
  passage: Passage;
  rank: number;
  sentences: readonly Sentence[];
  index: number;
  sentence: Sentence;
  terms: Record<Place, ReadonlySet<string>>;
  firstTerm: string | undefined;
  /** The days that the sentence names, or else its heading. Empty if the message asks about no day. */
  days: ReadonlySet<Day>;
  /** Whether the sentence is the first one after a question. */
  isAnswer: boolean;
  /** The terms of the heading if it is a question with most words of the message; empty otherwise. */
  question: ReadonlySet<string>;
  /** Whether the sentence answers a question about anything, such as "Can I send something back?", whose other words the message has. */
  answersAnything: boolean;
  isInOtherLanguage: boolean;
  /** Whether the sentence begins with a pronoun, so that the sentence before it names its subject. */
  refersToPrevious: boolean;
};

/** Returns the sentences of a passage. `messageTerms` are the message's terms and the concepts that it asks about. */
export function listCandidates(
  { passage, rank, sentences }: Pick<Candidate, "passage" | "rank" | "sentences">,
  messageTerms: ReadonlySet<string>,
  language: Language,
): Candidate[] {
  const termsOfSentences = sentences.map(({ text }) => extractTermsWithConcepts(text, language));
  const headings = passage.heading.split(" > ");
  const innermost = headings.pop() ?? "";
  const titles = [passage.source.replace(/[_/.-]/g, " "), ...headings];
  const title = extractTermsWithConcepts(titles.join("\n"), language);
  const titleOfQuestions = extractTermsWithConcepts([...titles, innermost].join("\n"), language);
  return sentences.map((sentence, index) => {
    const asked = sentence.question || innermost;
    const heading = selectHeadingTerms(asked, messageTerms, language);
    const isAnswer = sentence.question !== "" ? sentence.isAnswer : index === 0 && isQuestion(innermost);
    return {
      passage,
      rank,
      sentences,
      index,
      sentence,
      terms: {
        sentence: termsOfSentences[index] ?? new Set(),
        heading,
        previous: termsOfSentences[index - 1] ?? new Set(),
        title: sentence.question === "" ? title : titleOfQuestions,
      },
      days: new Set(),
      firstTerm: [
        ...extractTerms(/[\p{L}\p{M}\p{N}]+(?:['’.-][\p{L}\p{M}\p{N}]+)*/u.exec(sentence.text)?.[0] ?? "", language),
      ][0],
      question: sentence.question !== "" || isQuestion(innermost) ? heading : new Set<string>(),
      isInOtherLanguage: false,
      isAnswer,
      answersAnything: isAnswer && asksAboutAnything(asked) && shareOfHeading(asked, messageTerms, language) === 1,
      refersToPrevious: refersToPrevious(sentences, index, language),
    };
  });
}

export function findCandidateDays({ sentence, passage }: Candidate): ReadonlySet<Day> {
  const days = findDays(sentence.text);
  return days.size > 0 ? days : findDays(passage.heading.split(" > ").at(-1) ?? "");
}

/** Whether a sentence needs the one before it: it begins with a pronoun, or answers a question, as in "A damaged parcel? Send us a photo." */
export function refersToPrevious(sentences: readonly Sentence[], index: number, { code }: Language): boolean {
  const { text, startsParagraph } = sentences[index] ?? { text: "", startsParagraph: true };
  if (startsParagraph) return false;
  return (PRONOUNS[code]?.test(text) ?? false) || sentences[index - 1]?.isQuestion === true;
}

/** Also returns the concepts of the text, and hyphenated words without their hyphens: "Wi-Fi" is "wifi" in many questions. */
function extractTermsWithConcepts(text: string, language: Language): Set<string> {
  const compounds = text.match(/\p{L}+(?:-\p{L}+)+/gu)?.map((word) => word.replaceAll("-", "")) ?? [];
  const concepts = findNames(text, language).flatMap((name) => name.concepts);
  // The French stemmer keeps the ending of "nous louons".
  const verbs =
    language.code === "fr"
      ? [...text.matchAll(/(?<!\p{L})\p{L}{3,30}(?=ons(?!\p{L}))/giu)].map(([verb]) => `${verb}er`)
      : [];
  return new Set([...extractTerms([text, ...compounds, ...verbs].join(" "), language), ...concepts]);
}

/** Returns the terms of a heading. A heading that is another question than the message has none. */
function selectHeadingTerms(heading: string, messageTerms: ReadonlySet<string>, language: Language): Set<string> {
  return isQuestion(heading) && shareOfHeading(heading, messageTerms, language) < MIN_SHARED_QUESTION
    ? new Set()
    : extractTermsWithConcepts(heading, language);
}

/** Returns the share of the words of a heading that the message has, or synonyms of them. */
function shareOfHeading(heading: string, messageTerms: ReadonlySet<string>, language: Language): number {
  const terms = [...extractTerms(heading, language)];
  const names = findNames(heading, language);
  const shared = terms.filter(
    (term) =>
      messageTerms.has(term) ||
      names.some(
        ({ stems, concepts }) => stems.some((stem) => stem === term) && concepts.some((each) => messageTerms.has(each)),
      ),
  );
  return terms.length === 0 ? 0 : shared.length / terms.length;
}
