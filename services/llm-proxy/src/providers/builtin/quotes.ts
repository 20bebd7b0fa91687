import type { Passage, QueryTerm } from "@parley/rpc/llm";
import { detectLanguage, type Language } from "./language.ts";
import {
  asksHow,
  findAskedKind,
  findHeadWord,
  findOwnedWord,
  isAskingWord,
  isFollowUp,
  isInterrogative,
  type ValueKind,
} from "./question.ts";
import { isQuestion, joinSentences, type Sentence, splitSentences } from "./sentences.ts";
import { extractTerms, splitWords } from "./terms.ts";

/** Sentences of one passage that answer a message. */
export type Quote = {
  passage: Passage;
  /** The position of the first sentence in the passage. */
  position: number;
  text: string;
  /** The code that belongs to the sentences; empty for none. */
  code: string;
};

/** The value of a query term by the place where it occurs. */
const PLACE_VALUES = { sentence: 1, heading: 0.7, previous: 0.5, title: 0.4 };
/** The value of a term of which only a part occurs, such as a part of a German compound. */
const PARTIAL_VALUE = 0.6;
const MIN_PARTIAL_CHARACTERS = 5;
/** The share of the words of a heading's question that the message must contain. */
const MIN_SHARED_QUESTION = 0.6;
/** Words that ask weigh less than words that may name the subject. */
const ASKING_FACTOR = 0.3;
/** Words that occur in no passage weigh less, unless they are likely the subject. */
const UNKNOWN_FACTOR = 0.5;

/** The share of the query's weight that a sentence must cover to be an answer. */
const MIN_COVERAGE = 0.5;
/** Added to MIN_COVERAGE if the question asks for a kind of value that the sentence lacks. */
const MISSING_VALUE_COVERAGE = 0.3;
/** The least coverage of a sentence about the business itself, such as "You find us at …" for "Where is the shop?". */
const OWN_VALUE_COVERAGE = 1;
/** A term is a subject of the message if it weighs at least this share of the heaviest known term. */
const SUBJECT_SHARE = 0.5;

const VALUE_BONUS = 0.25;
/** Multiplied by the share of the previous question's words that a sentence covers, if the message continues that question. */
const PREVIOUS_QUESTION_BONUS = 0.3;
/** Definitions begin with their subject. */
const FIRST_WORD_BONUS = 0.12;
/** The first sentence after a question is the answer to it. */
const ANSWER_BONUS = 0.12;
/** Subtracted for each passage that precedes the sentence's passage in the prompt. */
const RANK_COST = 0.02;
const COST_PER_HUNDRED_CHARACTERS = 0.015;
/** A second quote needs a score within this of the best, unless it adds a subject. */
const SECOND_QUOTE_DISTANCE = 0.1;

const MAX_QUERY_TERMS = 48;
/** Also limits the sentences of a list. */
const MAX_QUOTE_CHARACTERS = 330;
const MAX_CODE_CHARACTERS = 300;

/** By language. A sentence that begins with one of these refers to the sentence before it. */
const PRONOUNS: Record<string, RegExp> = {
  en: /^(?:it|they|this|these|that|those|he|she)(?!\p{L})/iu,
  de: /^(?:er|dies\p{L}*)(?!\p{L})/iu,
  fr: /^(?:il(?! y a| faut)|elle|ils|elles|cela|celle-ci|celui-ci)(?!\p{L})/iu,
  es: /^(?:él|ella|ellos|ellas|esto|este|esta|estos|estas)(?!\p{L})/iu,
  it: /^(?:esso|essa|questo|questa|questi|queste|ciò)(?!\p{L})/iu,
  pt: /^(?:ele|ela|eles|elas|isto|este|esta)(?!\p{L})/iu,
  nl: /^(?:hij|zij|dit|deze)(?!\p{L})/iu,
};

type Term = {
  stem: string;
  /** Stems of longer words that the search looked for instead. Empty if it looked for the word itself. */
  related: string[];
  weight: number;
  isKnown: boolean;
  isAsking: boolean;
};

type SearchedTerm = Pick<Term, "stem" | "related">;

type Candidate = {
  passage: Passage;
  rank: number;
  sentences: readonly Sentence[];
  index: number;
  sentence: Sentence;
  terms: Record<keyof typeof PLACE_VALUES, ReadonlySet<string>>;
  firstTerm: string | undefined;
  /** Whether the sentence is the first one after a question. */
  isAnswer: boolean;
  /** Whether the sentence begins with a pronoun, so that the sentence before it names its subject. */
  refersToPrevious: boolean;
};

/** `subjects`: the subjects of the message that the sentence itself names. */
type Scored = { candidate: Candidate; score: number; subjects: readonly Term[] };

/** `previous`: the visitor's question before; empty for none. */
export type Question = { message: string; previous: string };

/** Returns the sentences that answer a question, or an empty array if there is no answer. Deterministic. */
export function findQuotes(
  { message, previous }: Question,
  passages: readonly Passage[],
  terms: readonly QueryTerm[],
): Quote[] {
  const language = detectLanguage(splitWords([message, ...passages.map((passage) => passage.text)].join("\n")));
  const messageTerms = new Set(
    [message, ...terms.map(({ word }) => word)].flatMap((text) => [...extractTerms(text, language)]),
  );
  const candidates = passages.flatMap((passage, rank) => listCandidates(passage, rank, messageTerms, language));
  const query = buildQuery(message, terms, candidates, language);
  const continued = isFollowUp(message) ? previous : "";
  const context = {
    kind: findAskedKind(message) ?? findAskedKind(continued),
    asksForCode: asksHow(message),
    earlier: [...extractTerms(continued, language)],
  };
  const scored = scoreCandidates(query, context, candidates);
  const [best] = scored;
  if (best === undefined) return [];
  const quote = toQuote(best.candidate, message, language);
  const second = scored.find((each) => isSecondQuote(each, best, quote));
  return second === undefined ? [quote] : [quote, toQuote(second.candidate, message, language)];
}

function listCandidates(
  passage: Passage,
  rank: number,
  messageTerms: ReadonlySet<string>,
  language: Language,
): Candidate[] {
  const sentences = splitSentences(passage.text);
  const headings = passage.heading.split(" > ");
  const innermost = headings.pop() ?? "";
  const title = extractTerms([passage.source.replace(/[_/.-]/g, " "), ...headings].join(" "), language);
  return sentences.map((sentence, index) => ({
    passage,
    rank,
    sentences,
    index,
    sentence,
    terms: {
      sentence: extractTermsWithCompounds(sentence.text, language),
      heading: selectHeadingTerms(sentence.question || innermost, messageTerms, language),
      previous: extractTerms(sentences[index - 1]?.text ?? "", language),
      title,
    },
    firstTerm: [...extractTerms(splitWords(sentence.text)[0] ?? "", language)][0],
    isAnswer: sentence.question !== "" ? sentence.startsParagraph : index === 0 && isQuestion(innermost),
    refersToPrevious: refersToPrevious(sentence, language),
  }));
}

function refersToPrevious({ text, startsParagraph }: Sentence, { code }: Language): boolean {
  return !startsParagraph && (PRONOUNS[code]?.test(text) ?? false);
}

/** Also returns hyphenated words without their hyphens: "Wi-Fi" is "wifi" in many questions. */
function extractTermsWithCompounds(text: string, language: Language): Set<string> {
  const compounds = [...text.matchAll(/\p{L}+(?:-\p{L}+)+/gu)].map(([word]) => word.replaceAll("-", ""));
  return extractTerms([text, ...compounds].join(" "), language);
}

/** Returns the terms of a heading. A heading that is another question than the message has none. */
function selectHeadingTerms(heading: string, messageTerms: ReadonlySet<string>, language: Language): Set<string> {
  const terms = extractTerms(heading, language);
  const shared = [...terms].filter((term) => messageTerms.has(term)).length;
  return isQuestion(heading) && shared < terms.size * MIN_SHARED_QUESTION ? new Set() : terms;
}

function buildQuery(
  message: string,
  searchTerms: readonly QueryTerm[],
  candidates: readonly Candidate[],
  language: Language,
): Term[] {
  const weighted = searchTerms.length > 0 ? searchTerms : splitWords(message).map((word) => ({ word, weight: 1 }));
  const asked = extractTerms(message, language);
  const terms = new Map<string, Term>();
  for (const { word, weight } of weighted.filter((each) => !isInterrogative(each.word)).slice(0, MAX_QUERY_TERMS))
    for (const found of extractTerms(word, language)) {
      const stem = asked.has(found) ? found : ([...asked].find((each) => isPart(each, found)) ?? found);
      const earlier = terms.get(stem);
      const related = [...(earlier?.related ?? []), ...(found === stem ? [] : [found])];
      const isAsking = isAskingWord(word);
      const isKnown = earlier?.isKnown === true || candidates.some((each) => coverTerm({ stem, related }, each) > 0);
      terms.set(stem, {
        stem,
        related,
        weight: Math.sqrt(weight) * (isAsking ? ASKING_FACTOR : 1),
        isKnown,
        isAsking,
      });
    }
  const subjects = findLikelySubjects(message, [...terms.values()], language);
  return [...terms.values()].map((term) =>
    term.isKnown || subjects.has(term.stem) ? term : { ...term, weight: term.weight * UNKNOWN_FACTOR },
  );
}

/** Returns the stems of the words that likely name what the message is about. */
function findLikelySubjects(message: string, terms: readonly Term[], language: Language): Set<string> {
  const head = extractTerms(findHeadWord(message) ?? "", language);
  const nouns = language.hasCapitalNouns
    ? extractTerms([...message.matchAll(/(?<=\S\s+)\p{Lu}[\p{L}\p{M}-]+/gu)].join(" "), language)
    : new Set<string>();
  const last = terms.findLast(({ isAsking }) => !isAsking);
  const subjects = new Set(head.size > 0 ? head : nouns.size > 0 || last === undefined ? nouns : [last.stem]);
  for (const stem of extractTerms(findOwnedWord(message) ?? "", language)) subjects.delete(stem);
  return subjects;
}

/** Returns the sentences that can answer, the best first. */
function scoreCandidates(
  query: readonly Term[],
  { kind, asksForCode, earlier }: { kind: ValueKind | undefined; asksForCode: boolean; earlier: readonly string[] },
  candidates: readonly Candidate[],
): Scored[] {
  const total = query.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0) return [];
  // "What is your phone number?" has no other words than those that ask.
  const hasSubject = query.some(({ isAsking }) => !isAsking);
  const known = query.filter(({ isKnown, isAsking }) => isKnown && !(isAsking && hasSubject));
  const minSubjectWeight = SUBJECT_SHARE * Math.max(0, ...known.map(({ weight }) => weight));
  // "Where is the shop?" has one such word, and it may name the business.
  const canAskAboutBusiness = query.filter(({ isAsking }) => !isAsking).length <= 1;
  return candidates
    .flatMap((candidate) => {
      const { sentence, rank } = candidate;
      if (sentence.isQuestion) return [];
      const values = query.map((term) => coverTerm(term, candidate));
      const isAboutBusiness = canAskAboutBusiness && kind?.own?.test(sentence.text) === true;
      const coverage = Math.max(
        query.reduce((sum, { weight }, index) => sum + weight * (values[index] ?? 0), 0) / total,
        isAboutBusiness ? OWN_VALUE_COVERAGE : 0,
      );
      const hasValue =
        kind?.value.test(sentence.text) ?? (asksForCode && findCode(candidate.sentences, candidate.index) !== "");
      const lacksValue = kind !== undefined && !hasValue;
      const minCoverage = MIN_COVERAGE + (lacksValue ? MISSING_VALUE_COVERAGE : 0);
      const subjects = known.filter(
        (term) => term.weight >= minSubjectWeight && matchTerm(term, candidate.terms.sentence) > 0,
      );
      const namesSubject =
        isAboutBusiness ||
        known.some((term) => term.weight >= minSubjectWeight && coverTerm(term, candidate) >= PLACE_VALUES.title);
      if ((lacksValue && kind.isRequired) || coverage < minCoverage || !namesSubject) return [];
      const score =
        coverage +
        (earlier.reduce((sum, stem) => sum + coverTerm({ stem, related: [] }, candidate), 0) /
          Math.max(1, earlier.length)) *
          PREVIOUS_QUESTION_BONUS +
        (hasValue ? VALUE_BONUS : 0) +
        (query.some(({ stem, isAsking }) => !isAsking && stem === candidate.firstTerm) ? FIRST_WORD_BONUS : 0) +
        (candidate.isAnswer ? ANSWER_BONUS : 0) -
        rank * RANK_COST -
        (sentence.text.length / 100) * COST_PER_HUNDRED_CHARACTERS;
      return [{ candidate, score, subjects }];
    })
    .sort((one, other) => other.score - one.score);
}

/** Returns how well a candidate covers a term, from 0 to 1. */
function coverTerm(term: SearchedTerm, { terms, refersToPrevious }: Candidate): number {
  return Math.max(
    matchTerm(term, terms.sentence) * PLACE_VALUES.sentence,
    matchTerm(term, terms.heading) * PLACE_VALUES.heading,
    matchTerm(term, terms.previous) * (refersToPrevious ? PLACE_VALUES.heading : PLACE_VALUES.previous),
    matchTerm(term, terms.title) * PLACE_VALUES.title,
  );
}

function matchTerm({ stem, related }: SearchedTerm, terms: ReadonlySet<string>): number {
  if (terms.has(stem) || related.some((each) => terms.has(each))) return 1;
  for (const term of terms) if (isPart(stem, term) || isPart(term, stem)) return PARTIAL_VALUE;
  return 0;
}

function isPart(part: string, whole: string): boolean {
  return part.length >= MIN_PARTIAL_CHARACTERS && (whole.startsWith(part) || whole.endsWith(part));
}

function isSecondQuote(each: Scored, best: Scored, quote: Quote): boolean {
  if (each.subjects.length === 0 || quote.text.includes(each.candidate.sentence.text)) return false;
  const addsSubject = each.subjects.some((subject) => coverTerm(subject, best.candidate) === 0);
  const isNear = each.candidate.passage === best.candidate.passage && each.score >= best.score - SECOND_QUOTE_DISTANCE;
  return addsSubject || (isNear && best.subjects.length > 0);
}

/** Returns the candidate's sentence with the sentences that it needs: the one that a pronoun refers to, or the list that follows it. */
function toQuote({ passage, sentences, index, sentence }: Candidate, message: string, language: Language): Quote {
  let from = index;
  while (from > 0 && refersToPrevious(sentences[from] ?? sentence, language)) from--;
  let to = index + 1;
  if (/[:：]$/.test(sentence.text))
    while (sentences[to]?.isListItem && lengthOf(sentences.slice(from, to + 1)) <= MAX_QUOTE_CHARACTERS) to++;
  const quoted = sentences.slice(from, to);
  const code = asksHow(message) ? findCode(sentences, index) : "";
  return {
    passage,
    position: from,
    text: joinSentences(quoted.map(({ text }) => text)),
    code: code.length <= MAX_CODE_CHARACTERS ? code : "",
  };
}

/** Returns the code block that follows a sentence's paragraph; empty for none. */
function findCode(sentences: readonly Sentence[], index: number): string {
  let last = index;
  while (sentences[last + 1]?.startsParagraph === false) last++;
  return sentences.slice(index, last + 1).find(({ code }) => code !== "")?.code ?? "";
}

function lengthOf(sentences: readonly Sentence[]): number {
  return sentences.reduce((sum, { text }) => sum + text.length + 1, 0);
}
