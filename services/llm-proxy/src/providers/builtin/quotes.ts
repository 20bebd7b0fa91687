import type { Passage, QueryTerm } from "@parley/rpc/llm";
import { type Candidate, findCandidateDays, listCandidates } from "./candidates.ts";
import { detectLanguage, detectLanguages } from "./language.ts";
import { listAskedConcepts } from "./lexicon.ts";
import { coverTerm, matchTerm, namesTerm, PLACE_VALUES, type Term } from "./match.ts";
import { buildQuery, type Question } from "./query.ts";
import { asksHow, isCase, isHours, isOwnQuestion, isSelfService } from "./question.ts";
import { findCode, lengthOf, MAX_QUOTE_CHARACTERS, type Quote, quoteAnswer, quoteSentence } from "./quote.ts";
import { findSameQuestion } from "./same-question.ts";
import { joinSentences, splitSentences } from "./sentences.ts";
import { findSuperlative, type Superlative } from "./superlatives.ts";
import { extractTerms, splitWords } from "./terms.ts";
import { findAskedKind, type ValueKind } from "./value-kinds.ts";

/** The share of the query's weight that a sentence must cover to be an answer. */
const MIN_COVERAGE = 0.48;
/** Added to MIN_COVERAGE if the question asks for a kind of value that the sentence lacks. */
const MISSING_VALUE_COVERAGE = 0.3;
/** The least coverage of a sentence about the business itself, such as "You find us at …" for "Where is the shop?". */
const OWN_VALUE_COVERAGE = 1;
/** For such a sentence in a document about what the question names, as in "Where is the shop?". */
const OWN_VALUE_BONUS = 0.2;
/** A term is a subject of the message if it weighs at least this share of the heaviest known term. */
const SUBJECT_SHARE = 0.5;

const VALUE_BONUS = 0.25;
const STRONG_VALUE_BONUS = 0.2;
/** For a sentence about a case, such as "If you cancel later, …", if the question is about one. */
const CASE_BONUS = 0.2;
/** For a sentence about what visitors do themselves, if the question is about that. */
const SELF_SERVICE_BONUS = 0.25;
/** For a sentence that names days, if the question does. */
const NAMED_DAY_BONUS = 0.15;
/** For a sentence about opening hours, if the question has no other subject than days. */
const HOURS_BONUS = 0.25;
/** Multiplied by the share of the previous question's words that a sentence covers, if the message continues that question. */
const PREVIOUS_QUESTION_BONUS = 0.4;
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

/** Rows of a table whose scores differ by less answer a question equally well. */
const EQUAL_ROW_DISTANCE = 0.01;
const MAX_ROWS = 3;
/** Sentences whose scores differ by less are about things that a superlative compares. */
const EQUAL_SENTENCE_DISTANCE = 0.2;

/** `subjects`: the subjects of the message that the sentence itself names. */
type Scored = { candidate: Candidate; score: number; subjects: readonly Term[] };

/** Returns the sentences that answer a question, or an empty array if there is no answer. Deterministic. */
export function findQuotes(
  { message, continued, days }: Question,
  passages: readonly Passage[],
  terms: readonly QueryTerm[],
): Quote[] {
  const sentences = passages.map(({ text }) => splitSentences(text));
  // The same words continue different questions: "How much does it cost?".
  const same = continued === "" ? findSameQuestion(message, passages, sentences) : undefined;
  if (same !== undefined) return [quoteAnswer(same, message)];
  const words = splitWords(message);
  const passageWords = passages.map(({ text }) => splitWords(text));
  const isInOtherLanguage = findOtherLanguages(words, passageWords);
  const ownWords = passageWords.filter((_, rank) => !isInOtherLanguage[rank]);
  const language = detectLanguage([...words, ...(ownWords.length > 0 ? ownWords : passageWords).flat()]);
  const asked = [...words, ...terms.map(({ word }) => word)];
  const messageTerms = new Set([...extractTerms(asked.join(" "), language), ...listAskedConcepts(message, language)]);
  const candidates = passages.flatMap((passage, rank) =>
    listCandidates({ passage, rank, sentences: sentences[rank] ?? [] }, messageTerms, language),
  );
  for (const candidate of candidates) candidate.isInOtherLanguage = isInOtherLanguage[candidate.rank] === true;
  if (days.size > 0) for (const candidate of candidates) candidate.days = findCandidateDays(candidate);
  const ownKind = findAskedKind(message);
  const superlative = findSuperlative(message);
  const asking = { kind: ownKind, askingWords: listAskingWords(message, ownKind, superlative) };
  const { query, earlier } = buildQuery({ message, continued, days }, asking, terms, candidates, language);
  const context = {
    kind: ownKind ?? findAskedKind(continued),
    isKindAsked: ownKind !== undefined || !isOwnQuestion(message),
    asksForCode: asksHow(message),
    asksCase: isCase(message),
    asksSelfService: isSelfService(message),
    earlier,
    superlative,
  };
  const scored = scoreCandidates(query, context, candidates);
  const best = selectExtreme(scored, superlative) ?? scored[0];
  if (best === undefined) return [];
  const rows = superlative === undefined && isRow(best.candidate) ? selectEqualRows(scored, best) : [];
  if (rows.length > 2 && lengthOf(rows.map(({ sentence }) => sentence)) <= MAX_QUOTE_CHARACTERS) {
    const text = joinSentences(rows.map(({ sentence }) => sentence.text));
    return [{ passage: best.candidate.passage, position: rows[0]?.index ?? 0, text, code: "" }];
  }
  const quote = quoteSentence(best.candidate, message, language);
  const second = superlative === undefined ? scored.find((each) => isSecondQuote(each, best, quote)) : undefined;
  return second === undefined ? [quote] : [quote, quoteSentence(second.candidate, message, language)];
}

/** Returns whether each passage is in another language than the message. A text without stop words, such as a table, may be in any language. */
function findOtherLanguages(words: readonly string[], passageWords: readonly string[][]): boolean[] {
  const languages = detectLanguages(words);
  return passageWords.map((each) => {
    const own = detectLanguages(each);
    return languages.size > 0 && own.size > 0 && ![...own].some((code) => languages.has(code));
  });
}

type Context = {
  kind: ValueKind | undefined;
  /** Whether the message asks for the kind. Otherwise, only the question that it continues does. */
  isKindAsked: boolean;
  asksForCode: boolean;
  /** Whether the question is about a case: "What if I am late?". */
  asksCase: boolean;
  /** Whether the question is about what the visitor does: "Can I collect it myself?". */
  asksSelfService: boolean;
  earlier: readonly Term[];
  superlative: Superlative | undefined;
};

/** Returns the words that do not name the subject but ask for a value, or compare. */
function listAskingWords(message: string, kind: ValueKind | undefined, superlative: Superlative | undefined) {
  return new Set(splitWords([kind?.asked.exec(message)?.[0], superlative?.phrase].join(" ")));
}

/** Returns the sentence with the largest or smallest number among the rows of the best one's passage, or among its other sentences with near scores. */
function selectExtreme(scored: readonly Scored[], superlative: Superlative | undefined): Scored | undefined {
  const best = scored.find(({ candidate }) => isRow(candidate)) ?? scored[0];
  if (best === undefined || superlative === undefined) return undefined;
  const compared = scored.filter(
    ({ candidate, score }) =>
      candidate.passage === best.candidate.passage &&
      isRow(candidate) === isRow(best.candidate) &&
      (isRow(candidate) || score > best.score - EQUAL_SENTENCE_DISTANCE),
  );
  const numberOf = ({ candidate }: Scored) => superlative.read(candidate.sentence.text)[0] ?? 0;
  const sign = superlative.isLargest ? -1 : 1;
  return compared.sort((one, other) => sign * (numberOf(one) - numberOf(other)))[0];
}

/** Whether a sentence is a paragraph of its own, as a row of a table and an item of a list are. */
function isRow({ sentences, index, sentence }: Candidate): boolean {
  return sentence.startsParagraph && sentences[index + 1]?.startsParagraph !== false;
}

/** Returns the rows of the best row's table that answer as well, in their order: "Umbrella, day" and "Umbrella, week" for "How much is an umbrella?". */
function selectEqualRows(scored: readonly Scored[], best: Scored): Candidate[] {
  return scored
    .filter(
      ({ candidate, score }) =>
        candidate.passage === best.candidate.passage && isRow(candidate) && best.score - score < EQUAL_ROW_DISTANCE,
    )
    .map(({ candidate }) => candidate)
    .sort((one, other) => one.index - other.index)
    .slice(0, MAX_ROWS);
}

function isAboutHours({ sentence, passage }: Candidate): boolean {
  return isHours(passage.heading.split(" > ").at(-1) ?? "") || isHours(sentence.text);
}

/** Returns the sentences that can answer, the best first. */
function scoreCandidates(
  query: readonly Term[],
  { kind, isKindAsked, asksForCode, asksCase, asksSelfService, earlier, superlative }: Context,
  candidates: readonly Candidate[],
): Scored[] {
  const total = query.reduce((sum, { weight }) => sum + weight, 0);
  if (total === 0 && kind?.own === undefined && superlative === undefined) return [];
  // "What is your phone number?" has no other words than those that ask.
  const hasSubject = query.some(({ isAsking, isGeneric, isKnown }) => !isAsking && (isKnown || !isGeneric));
  const known = query.filter(({ isKnown, isAsking }) => isKnown && !(isAsking && hasSubject));
  const minSubjectWeight = SUBJECT_SHARE * Math.max(0, ...known.map(({ weight }) => weight));
  // "Where is the shop?" has one such word, and it may name the business.
  const nouns = query.filter(({ isAsking }) => !isAsking);
  const canAskAboutBusiness = nouns.length <= 1 && nouns.every(({ parts }) => parts.length === 0);
  const asksDays = query.some((term) => term.days !== undefined);
  const asksHours = asksDays && query.every((term) => term.isAsking || term.isGeneric || term.days !== undefined);
  return candidates
    .flatMap((candidate) => {
      const { sentence, rank } = candidate;
      if (sentence.isQuestion) return [];
      const values = query.map((term) => coverTerm(term, candidate));
      // "What is the cheapest?" has no subject: each sentence with a price is compared.
      const isAboutBusiness =
        (canAskAboutBusiness && kind?.own?.some((pattern) => pattern.test(sentence.text)) === true) ||
        (!hasSubject && superlative !== undefined && superlative.read(sentence.text).length > 0);
      const coverage = Math.max(
        total === 0 ? 0 : query.reduce((sum, { weight }, index) => sum + weight * (values[index] ?? 0), 0) / total,
        isAboutBusiness ? OWN_VALUE_COVERAGE : 0,
        candidate.answersAnything ? ANYTHING_COVERAGE : 0,
      );
      const hasValue =
        kind?.value.test(sentence.text) ?? (asksForCode && findCode(candidate.sentences, candidate.index) !== "");
      const lacksValue = kind !== undefined && !hasValue;
      const minCoverage = MIN_COVERAGE + (lacksValue && isKindAsked ? MISSING_VALUE_COVERAGE : 0);
      const subjects = known.filter((term) => term.weight >= minSubjectWeight && namesTerm(term, candidate));
      const namesSubject =
        isAboutBusiness ||
        candidate.answersAnything ||
        known.some((term) => term.weight >= minSubjectWeight && coverTerm(term, candidate) >= PLACE_VALUES.title);
      if (superlative !== undefined && superlative.read(sentence.text).length === 0) return [];
      if ((lacksValue && isKindAsked && kind.isRequired) || coverage < minCoverage || !namesSubject) return [];
      const score =
        coverage +
        meanCover(earlier, candidate) * PREVIOUS_QUESTION_BONUS +
        (hasValue && kind?.strong?.test(sentence.text) !== false ? VALUE_BONUS : 0) +
        (kind?.strong?.test(sentence.text) ? STRONG_VALUE_BONUS : 0) +
        (asksCase && isCase(sentence.text) ? CASE_BONUS : 0) +
        (asksSelfService && isSelfService(sentence.text) ? SELF_SERVICE_BONUS : 0) +
        (asksDays && candidate.days.size > 0 ? NAMED_DAY_BONUS : 0) +
        (asksHours && isAboutHours(candidate) ? HOURS_BONUS : 0) +
        (isAboutBusiness && isAboutDocument(query, candidate) ? OWN_VALUE_BONUS : 0) +
        (kind?.asked.test(sentence.text) ? NAMED_VALUE_BONUS : 0) +
        (query.some(({ stem, isAsking }) => !isAsking && stem === candidate.firstTerm) ? FIRST_WORD_BONUS : 0) +
        (candidate.isAnswer ? ANSWER_BONUS : 0) +
        (superlative !== undefined && superlative.read(sentence.text).length > 1 ? VALUE_BONUS : 0) +
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

function isSecondQuote(each: Scored, best: Scored, quote: Quote): boolean {
  if (each.subjects.length === 0 || quote.text.includes(each.candidate.sentence.text)) return false;
  const addsSubject = each.subjects.some((subject) => coverTerm(subject, best.candidate) === 0);
  const isNear = each.candidate.passage === best.candidate.passage && each.score >= best.score - SECOND_QUOTE_DISTANCE;
  return addsSubject || (isNear && best.subjects.length > 0);
}
