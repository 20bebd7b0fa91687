import { type Day, findDays, isDayWord, listSynonyms } from "@parley/bot-rules/questions";
import type { Passage, QueryTerm } from "@parley/rpc/llm";
import { detectLanguage, detectLanguages, type Language } from "./language.ts";
import {
  asksAboutAnything,
  asksAboutCase,
  asksHow,
  findAskedKind,
  findHeadWord,
  findOwnedWord,
  isAskingWord,
  isInterrogative,
  type ValueKind,
} from "./question.ts";
import { isQuestion, joinSentences, type Sentence, splitSentences } from "./sentences.ts";
import { extractTerms, removeElision, splitWords } from "./terms.ts";

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
/** The value of a term that is the head of a compound: textbooks are books. */
const COMPOUND_VALUE = 0.8;
/** The value of a term of which a synonym occurs. */
const SYNONYM_VALUE = 0.8;
const MIN_PARTIAL_CHARACTERS = 5;
/** The share of the words of a heading's question that the message must contain. */
const MIN_SHARED_QUESTION = 0.6;
/** Words that ask weigh less than words that may name the subject. */
const ASKING_FACTOR = 0.3;
/** Words that occur in no passage weigh less, unless they are likely the subject. */
const UNKNOWN_FACTOR = 0.5;

/** The value of a sentence that names other days than those asked about: "Open from Monday to Saturday" answers "Are you open on Sunday?". */
const OTHER_DAY_VALUE = 0.5;
/** The weight of the days that a message asks about, as a share of its heaviest other term. */
const DAY_WEIGHT = 0.8;

/** The share of the query's weight that a sentence must cover to be an answer. */
const MIN_COVERAGE = 0.5;
/** Added to MIN_COVERAGE if the question asks for a kind of value that the sentence lacks. */
const MISSING_VALUE_COVERAGE = 0.3;
/** The least coverage of a sentence about the business itself, such as "You find us at …" for "Where is the shop?". */
const OWN_VALUE_COVERAGE = 1;
/** For such a sentence in a document about what the question names, as in "Where is the shop?". */
const OWN_VALUE_BONUS = 0.2;
/** A term is a subject of the message if it weighs at least this share of the heaviest known term. */
const SUBJECT_SHARE = 0.5;

const VALUE_BONUS = 0.25;
/** Multiplied by the share of the previous question's words that a sentence covers, if the message continues that question. */
const PREVIOUS_QUESTION_BONUS = 0.6;
/** Coverage of a sentence that answers a question about anything, such as "Can I send something back?" for "Can I send the cup back?". */
const ANYTHING_COVERAGE = 0.8;
/** For a sentence that names the kind of value that the message asks for: "price: 9 €" for "How much is it?". */
const NAMED_VALUE_BONUS = 0.08;
/** Definitions begin with their subject. */
const FIRST_WORD_BONUS = 0.12;
/** The first sentence after a question is the answer to it. */
const ANSWER_BONUS = 0.12;
/** For a heading that asks the same as the message. */
const SAME_QUESTION_BONUS = 0.35;
/** Subtracted for a passage in another language than the message. */
const OTHER_LANGUAGE_COST = 0.4;
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
  synonyms: string[];
  weight: number;
  isKnown: boolean;
  isAsking: boolean;
  /** Of the term that stands for all words that say which days. */
  days?: ReadonlySet<Day>;
};

type SearchedTerm = Pick<Term, "stem" | "related" | "synonyms" | "days">;

type Candidate = {
  passage: Passage;
  rank: number;
  sentences: readonly Sentence[];
  index: number;
  sentence: Sentence;
  terms: Record<keyof typeof PLACE_VALUES, ReadonlySet<string>>;
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

/** `subjects`: the subjects of the message that the sentence itself names. */
type Scored = { candidate: Candidate; score: number; subjects: readonly Term[] };

export type Question = {
  message: string;
  /** The question that the message continues; empty if the message stands alone. */
  continued: string;
  /** The days that the message asks about. */
  days: ReadonlySet<Day>;
};

/** Returns the sentences that answer a question, or an empty array if there is no answer. Deterministic. */
export function findQuotes(
  { message, continued, days }: Question,
  passages: readonly Passage[],
  terms: readonly QueryTerm[],
): Quote[] {
  const words = splitWords(message);
  const passageWords = passages.map(({ text }) => splitWords(text));
  const isInOtherLanguage = findOtherLanguages(words, passageWords);
  const ownWords = passageWords.filter((_, rank) => !isInOtherLanguage[rank]);
  const language = detectLanguage([...words, ...(ownWords.length > 0 ? ownWords : passageWords).flat()]);
  const asked = [...words, ...terms.map(({ word }) => word)];
  const messageTerms = extractTerms([...asked, ...asked.flatMap(listSynonyms)].join(" "), language);
  const candidates = passages.flatMap((passage, rank) => listCandidates(passage, rank, messageTerms, language));
  for (const candidate of candidates) candidate.isInOtherLanguage = isInOtherLanguage[candidate.rank] === true;
  if (days.size > 0) for (const candidate of candidates) candidate.days = findCandidateDays(candidate);
  const { query, earlier } = buildQuery({ message, continued, days }, terms, candidates, language);
  const context = {
    kind: findAskedKind(message) ?? findAskedKind(continued),
    asksForCode: asksHow(message),
    earlier,
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
  const termsOfSentences = sentences.map(({ text }) => extractTermsWithCompounds(text, language));
  const headings = passage.heading.split(" > ");
  const innermost = headings.pop() ?? "";
  const title = extractTerms([passage.source.replace(/[_/.-]/g, " "), ...headings].join(" "), language);
  return sentences.map((sentence, index) => {
    const asked = sentence.question || innermost;
    const heading = selectHeadingTerms(asked, messageTerms, language);
    const isAnswer = sentence.question !== "" ? sentence.startsParagraph : index === 0 && isQuestion(innermost);
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
        title,
      },
      days: new Set(),
      firstTerm: [
        ...extractTerms(/[\p{L}\p{M}\p{N}]+(?:['’.-][\p{L}\p{M}\p{N}]+)*/u.exec(sentence.text)?.[0] ?? "", language),
      ][0],
      question: sentence.question !== "" || isQuestion(innermost) ? heading : new Set<string>(),
      isInOtherLanguage: false,
      isAnswer,
      answersAnything:
        isAnswer &&
        asksAboutAnything(asked) &&
        heading.size > 0 &&
        [...heading].every((term) => messageTerms.has(term)),
      refersToPrevious: refersToPrevious(sentence, language),
    };
  });
}

function findCandidateDays({ sentence, passage }: Candidate): ReadonlySet<Day> {
  const days = findDays(sentence.text);
  return days.size > 0 ? days : findDays(passage.heading.split(" > ").at(-1) ?? "");
}

function refersToPrevious({ text, startsParagraph }: Sentence, { code }: Language): boolean {
  return !startsParagraph && (PRONOUNS[code]?.test(text) ?? false);
}

/** Returns whether each passage is in another language than the message. A text without stop words, such as a table, may be in any language. */
function findOtherLanguages(words: readonly string[], passageWords: readonly string[][]): boolean[] {
  const languages = detectLanguages(words);
  return passageWords.map((each) => {
    const own = detectLanguages(each);
    return languages.size > 0 && own.size > 0 && ![...own].some((code) => languages.has(code));
  });
}

/** Also returns hyphenated words without their hyphens: "Wi-Fi" is "wifi" in many questions. */
function extractTermsWithCompounds(text: string, language: Language): Set<string> {
  const compounds = text.match(/\p{L}+(?:-\p{L}+)+/gu)?.map((word) => word.replaceAll("-", "")) ?? [];
  return extractTerms([text, ...compounds].join(" "), language);
}

/** Returns the terms of a heading. A heading that is another question than the message has none. */
function selectHeadingTerms(heading: string, messageTerms: ReadonlySet<string>, language: Language): Set<string> {
  const terms = extractTerms(heading, language);
  const shared = [...terms].filter((term) => messageTerms.has(term)).length;
  return isQuestion(heading) && shared < terms.size * MIN_SHARED_QUESTION ? new Set() : terms;
}

/**
 * Returns the terms of the message. If the message names no subject, as in "And on Sunday?", its terms include those of the question that it
 * continues. Otherwise `earlier` has the latter.
 */
function buildQuery(
  { message, continued, days }: Question,
  searchTerms: readonly QueryTerm[],
  candidates: readonly Candidate[],
  language: Language,
): { query: Term[]; earlier: Term[] } {
  const hasDays = candidates.some((each) => each.days.size > 0);
  const isSearched = ({ word }: Weighted) => !isInterrogative(word) && !(hasDays && isDayWord(word));
  const weighted = searchTerms.length > 0 ? searchTerms : toWeighted(message);
  const terms = toTerms(message, weighted.filter(isSearched), candidates, language);
  const isWithoutSubject = terms.every(({ isAsking }) => isAsking);
  const continuedTerms = toTerms(continued, toWeighted(continued).filter(isSearched), candidates, language);
  const known = new Set(terms.map(({ stem }) => stem));
  if (isWithoutSubject) terms.push(...continuedTerms.filter(({ stem }) => !known.has(stem)));
  const earlier = isWithoutSubject ? [] : continuedTerms;
  const subjects = findLikelySubjects(isWithoutSubject ? continued : message, terms, language);
  const query = terms.map((term) =>
    term.isKnown || subjects.has(term.stem) ? term : { ...term, weight: term.weight * UNKNOWN_FACTOR },
  );
  if (!hasDays) return { query, earlier };
  const heaviest = Math.max(0, ...terms.filter(({ isAsking }) => !isAsking).map(({ weight }) => weight));
  const weight = heaviest === 0 ? 1 : heaviest * DAY_WEIGHT;
  const dayTerm: Term = { stem: "", related: [], synonyms: [], weight, isKnown: true, isAsking: false, days };
  return { query: [...query, dayTerm], earlier };
}

type Weighted = Pick<QueryTerm, "word" | "weight">;

/** Words of a text with equal weights. */
function toWeighted(text: string): Weighted[] {
  return splitWords(text).map((word) => ({ word, weight: 1 }));
}

function toTerms(
  message: string,
  weighted: readonly Weighted[],
  candidates: readonly Candidate[],
  language: Language,
): Term[] {
  const asked = extractTerms(message, language);
  const terms = new Map<string, Term>();
  const parts = findPartsOfCompounds(message, weighted);
  for (const { word, weight } of weighted.filter((each) => !parts.has(each.word)).slice(0, MAX_QUERY_TERMS))
    for (const found of extractTerms(word, language)) {
      const stem = asked.has(found) ? found : ([...asked].find((each) => isPart(each, found)) ?? found);
      const earlier = terms.get(stem);
      const related = [...(earlier?.related ?? []), ...(found === stem ? [] : [found])];
      const isAsking = isAskingWord(removeElision(word));
      const synonyms = [
        ...(earlier?.synonyms ?? []),
        ...listSynonyms(word).flatMap((each) => [...extractTerms(each, language)]),
      ];
      const isKnown =
        earlier?.isKnown === true || candidates.some((each) => coverTerm({ stem, related, synonyms }, each) > 0);
      terms.set(stem, {
        stem,
        related,
        synonyms,
        weight: Math.sqrt(weight) * (isAsking ? ASKING_FACTOR : 1),
        isKnown,
        isAsking,
      });
    }
  return [...terms.values()];
}

/** Returns the words that the search added as parts of a compound: "node" and "js" for "Node.js". They are no words of the message. */
function findPartsOfCompounds(message: string, weighted: readonly Weighted[]): Set<string> {
  const words = splitWords(message);
  const compounds = weighted.map(({ word }) => word).filter((word) => words.includes(word));
  const isPartOfWord = ({ word }: Weighted) => !words.includes(word) && compounds.some((each) => each.includes(word));
  return new Set(weighted.filter(isPartOfWord).map(({ word }) => word));
}

/** Returns the stems of the words that likely name what the message is about. */
function findLikelySubjects(message: string, terms: readonly Term[], language: Language): Set<string> {
  if (asksAboutCase(message)) return new Set(terms.filter(({ isAsking }) => !isAsking).map(({ stem }) => stem));
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
  { kind, asksForCode, earlier }: { kind: ValueKind | undefined; asksForCode: boolean; earlier: readonly Term[] },
  candidates: readonly Candidate[],
): Scored[] {
  const total = query.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0 && kind?.own === undefined) return [];
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
        total === 0 ? 0 : query.reduce((sum, { weight }, index) => sum + weight * (values[index] ?? 0), 0) / total,
        isAboutBusiness ? OWN_VALUE_COVERAGE : 0,
        candidate.answersAnything ? ANYTHING_COVERAGE : 0,
      );
      const hasValue =
        kind?.value.test(sentence.text) ?? (asksForCode && findCode(candidate.sentences, candidate.index) !== "");
      const lacksValue = kind !== undefined && !hasValue;
      const minCoverage = MIN_COVERAGE + (lacksValue ? MISSING_VALUE_COVERAGE : 0);
      const subjects = known.filter((term) => term.weight >= minSubjectWeight && namesTerm(term, candidate));
      const namesSubject =
        isAboutBusiness ||
        candidate.answersAnything ||
        known.some((term) => term.weight >= minSubjectWeight && coverTerm(term, candidate) >= PLACE_VALUES.title);
      if ((lacksValue && kind.isRequired) || coverage < minCoverage || !namesSubject) return [];
      const score =
        coverage +
        meanCover(earlier, candidate) * PREVIOUS_QUESTION_BONUS +
        (hasValue ? VALUE_BONUS : 0) +
        (isAboutBusiness && isAboutDocument(query, candidate) ? OWN_VALUE_BONUS : 0) +
        (kind?.asked.test(sentence.text) ? NAMED_VALUE_BONUS : 0) +
        (query.some(({ stem, isAsking }) => !isAsking && stem === candidate.firstTerm) ? FIRST_WORD_BONUS : 0) +
        (candidate.isAnswer ? ANSWER_BONUS : 0) +
        (asksSame(candidate.question, query) ? SAME_QUESTION_BONUS : 0) -
        (candidate.isInOtherLanguage ? OTHER_LANGUAGE_COST : 0) -
        rank * RANK_COST -
        (sentence.text.length / 100) * COST_PER_HUNDRED_CHARACTERS;
      return [{ candidate, score, subjects }];
    })
    .sort((one, other) => other.score - one.score);
}

/** Returns the mean of how well a candidate covers terms, by their weights. */
function meanCover(terms: readonly Term[], candidate: Candidate): number {
  const total = terms.reduce((sum, { weight }) => sum + weight, 0);
  return total === 0 ? 0 : terms.reduce((sum, term) => sum + term.weight * coverTerm(term, candidate), 0) / total;
}

/** Whether all words of the query that may name its subject are in the headings or the name of the candidate's document. */
function isAboutDocument(query: readonly Term[], { terms }: Candidate): boolean {
  return query.every((term) => term.isAsking || matchTerm(term, terms.heading) > 0 || matchTerm(term, terms.title) > 0);
}

/** Whether a question has all known words of the query that may name its subject. */
function asksSame(question: ReadonlySet<string>, query: readonly Term[]): boolean {
  if (question.size === 0) return false;
  const subjects = query.filter(({ isAsking, days }) => !isAsking && days === undefined);
  const compared = subjects.length > 0 ? subjects : query;
  return compared.every((term) => term.days === undefined && matchTerm(term, question) > 0);
}

/** Returns how well a candidate covers a term, from 0 to 1. */
function coverTerm(term: SearchedTerm, { terms, days, refersToPrevious }: Candidate): number {
  if (term.days !== undefined) return coverDays(term.days, days);
  return Math.max(
    matchTerm(term, terms.sentence) * PLACE_VALUES.sentence,
    matchTerm(term, terms.heading) * PLACE_VALUES.heading,
    matchTerm(term, terms.previous) * (refersToPrevious ? PLACE_VALUES.heading : PLACE_VALUES.previous),
    matchTerm(term, terms.title) * PLACE_VALUES.title,
  );
}

function coverDays(asked: ReadonlySet<Day>, named: ReadonlySet<Day>): number {
  if (named.size === 0) return 0;
  return [...asked].some((day) => named.has(day)) ? PLACE_VALUES.sentence : OTHER_DAY_VALUE;
}

/** Whether the sentence itself names a term. */
function namesTerm(term: SearchedTerm, { terms, days }: Candidate): boolean {
  return term.days === undefined
    ? matchTerm(term, terms.sentence) > 0
    : coverDays(term.days, days) === PLACE_VALUES.sentence;
}

function matchTerm({ stem, related, synonyms }: SearchedTerm, terms: ReadonlySet<string>): number {
  if (terms.has(stem) || related.some((each) => terms.has(each))) return 1;
  if (synonyms.some((each) => terms.has(each))) return SYNONYM_VALUE;
  let value = 0;
  for (const term of terms)
    if (isPart(stem, term)) value = Math.max(value, term.endsWith(stem) ? COMPOUND_VALUE : PARTIAL_VALUE);
    else if (isPart(term, stem)) value = Math.max(value, PARTIAL_VALUE);
  return value;
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
