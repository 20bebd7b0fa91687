import { type Day, isDayWord, splitCompound } from "@parley/bot-rules/questions";
import type { QueryTerm } from "@parley/rpc/llm";
import type { Candidate } from "./candidates.ts";
import type { Language } from "./language.ts";
import { type FoundName, findNames, listAskedConcepts } from "./lexicon.ts";
import { coverTerm, isPart, matchTerm, type Term } from "./match.ts";
import {
  asksAboutCase,
  findActionWords,
  findAlternatives,
  findHeadWord,
  findOwnedWord,
  isAskingWord,
  isGenericAction,
  isInterrogative,
  isOwnQuestion,
} from "./question.ts";
import { extractTerms, removeElision, splitWords, stemWord } from "./terms.ts";
import type { ValueKind } from "./value-kinds.ts";

/** Words that ask weigh less than words that may name the subject. */
const ASKING_FACTOR = 0.3;
/** Words that occur in no passage weigh less, unless they are likely the subject or have synonyms: the documents have a known thing by some name. */
const UNKNOWN_FACTOR = 0.5;
/** A likely subject that occurs in no passage outweighs one known word. */
const UNKNOWN_SUBJECT_FACTOR = 1.1;
/** Verbs that documents leave out, and parts of the day, weigh less. */
const GENERIC_FACTOR = 0.3;
/** The weight of the days that a message asks about, as a share of its heaviest other term. */
const DAY_WEIGHT = 0.8;
const MAX_QUERY_TERMS = 48;
/** Each part of a compound weighs this share of the compound. */
const PART_FACTOR = 0.7;

export type Question = {
  message: string;
  /** The question that the message continues; empty if the message stands alone. */
  continued: string;
  /** The days that the message asks about. */
  days: ReadonlySet<Day>;
};

/**
 * Returns the terms of the message. If the message names no subject, as in "And on Sunday?", its terms include those of the question that it
 * continues. Otherwise `earlier` has the latter.
 */
export function buildQuery(
  { message, continued, days }: Question,
  { kind, askingWords }: { kind: ValueKind | undefined; askingWords: ReadonlySet<string> },
  searchTerms: readonly QueryTerm[],
  candidates: readonly Candidate[],
  language: Language,
): { query: Term[]; earlier: Term[] } {
  const hasDays = candidates.some((each) => each.days.size > 0);
  const isSearched = ({ word }: Weighted) => !isInterrogative(word) && !(hasDays && isDayWord(word));
  const weighted = searchTerms.length > 0 ? searchTerms : toWeighted(message);
  const terms = toTerms(readText(message, language, askingWords), weighted.filter(isSearched), candidates, language);
  const isSide = ({ isAsking, isGeneric, isKnown }: Term) =>
    isAsking || isGeneric || (!isKnown && kind !== undefined && continued !== "");
  const isWithoutSubject = terms.every(isSide);
  const continuedTerms = toTerms(
    readText(continued, language),
    toWeighted(continued).filter(isSearched),
    candidates,
    language,
  );
  const known = new Set(terms.map(({ stem }) => stem));
  if (isWithoutSubject)
    terms.push(...continuedTerms.filter(({ stem, isAsking }) => !known.has(stem) && !(isAsking && kind !== undefined)));
  // In "And the vase?" after "How much is the mug?", the new subject replaces the only one.
  const isReplaced = !isOwnQuestion(message) && continuedTerms.filter(({ isAsking }) => !isAsking).length === 1;
  const earlier = isWithoutSubject || isReplaced ? [] : continuedTerms;
  const subjects = findLikelySubjects(isWithoutSubject ? continued : message, terms, language);
  const owned = extractTerms(findOwnedWord(message) ?? "", language);
  const actions = extractTerms(findActionWords(message).join(" "), language);
  const alternatives = extractTerms(findAlternatives(message).join(" "), language);
  const hasSubject = terms.some(({ isAsking, isGeneric }) => !isAsking && !isGeneric);
  const unknownFactor = ({ stem, concepts, isGeneric, isAsking }: Term) => {
    if (isAsking && hasSubject && !actions.has(stem)) return 0;
    if (isGeneric) return 1;
    if (alternatives.has(stem)) return UNKNOWN_FACTOR;
    return subjects.has(stem) || (concepts.length > 0 && !owned.has(stem)) ? UNKNOWN_SUBJECT_FACTOR : UNKNOWN_FACTOR;
  };
  const query = terms.map((term) => (term.isKnown ? term : { ...term, weight: term.weight * unknownFactor(term) }));
  if (!hasDays) return { query, earlier };
  const heaviest = Math.max(0, ...terms.filter(({ isAsking }) => !isAsking).map(({ weight }) => weight));
  const weight = heaviest === 0 ? 1 : heaviest * DAY_WEIGHT;
  const dayTerm: Term = {
    stem: "",
    parts: [],
    related: [],
    concepts: [],
    weight,
    isKnown: true,
    isAsking: false,
    isGeneric: false,
    days,
  };
  return { query: [...query, dayTerm], earlier };
}

type Weighted = Pick<QueryTerm, "word" | "weight">;

/** Words of a text with equal weights. */
function toWeighted(text: string): Weighted[] {
  return splitWords(text).map((word) => ({ word, weight: 1 }));
}

type QuestionText = {
  words: readonly string[];
  stems: ReadonlySet<string>;
  phrases: readonly FoundName[];
  /** The words that ask for a kind of value or compare: "how long", "the cheapest". */
  askingWords: ReadonlySet<string>;
};

function readText(
  text: string,
  language: Language,
  askingWords: ReadonlySet<string> = new Set<string>(),
): QuestionText {
  return {
    words: splitWords(text),
    stems: extractTerms(text, language),
    phrases: selectPhrases(findNames(text, language)),
    askingWords,
  };
}

function toTerms(
  text: QuestionText,
  weighted: readonly Weighted[],
  candidates: readonly Candidate[],
  language: Language,
): Term[] {
  const phrases = text.phrases.slice(0, MAX_QUERY_TERMS);
  const inPhrases = new Set(phrases.flatMap(({ from, to }) => text.words.slice(from, to)));
  const parts = findPartsOfCompounds(text.words, weighted);
  const single = weighted.filter(({ word }) => !parts.has(word) && !inPhrases.has(word)).slice(0, MAX_QUERY_TERMS);
  const terms = [
    ...toSingleTerms(text, single, language).flatMap((term) => splitTerm(term, candidates, language)),
    ...phrases.map((phrase) => toPhraseTerm(phrase, text, weighted, language)),
  ];
  return terms.map((term) => ({ ...term, isKnown: candidates.some((each) => coverTerm(term, each) > 0) }));
}

const NO_TERM = { parts: [], related: [], concepts: [] };

type UnknownTerm = Omit<Term, "isKnown">;

function toSingleTerms(
  { stems: asked, askingWords }: QuestionText,
  weighted: readonly Weighted[],
  language: Language,
): UnknownTerm[] {
  const terms = new Map<string, UnknownTerm>();
  for (const { word, weight } of weighted)
    for (const found of extractTerms(word, language)) {
      const stem = asked.has(found) ? found : ([...asked].find((each) => isPart(each, found)) ?? found);
      const isAsking = isAskingWord(removeElision(word)) || askingWords.has(word);
      const isGeneric = isGenericAction(word);
      terms.set(stem, {
        stem,
        parts: [],
        related: [...(terms.get(stem)?.related ?? []), ...(found === stem ? [] : [found])],
        concepts: listAskedConcepts(word, language),
        weight: Math.sqrt(weight) * (isAsking ? ASKING_FACTOR : isGeneric ? GENERIC_FACTOR : 1),
        isAsking,
        isGeneric,
      });
    }
  return [...terms.values()];
}

/** Returns the parts of a German compound that the documents and the lists of synonyms do not have, but its parts. Otherwise returns the term. */
function splitTerm(term: UnknownTerm, candidates: readonly Candidate[], language: Language): UnknownTerm[] {
  if (!language.hasCapitalNouns || term.concepts.length > 0) return [term];
  const isInDocuments = (stem: string) =>
    candidates.some(({ terms }) => matchTerm({ ...NO_TERM, stem }, terms.sentence) > 0);
  const isKnown = (part: string) =>
    listAskedConcepts(part, language).length > 0 || isInDocuments(stemWord(part, language));
  if (candidates.some(({ terms }) => terms.sentence.has(term.stem))) return [term];
  const parts = splitCompound(term.stem, isKnown);
  if (parts.length === 0) return [term];
  return parts.map((part) => ({
    ...term,
    stem: stemWord(part, language),
    related: [],
    concepts: listAskedConcepts(part, language),
    weight: term.weight * PART_FACTOR,
  }));
}

/** Returns the names of several words, each once and without those that begin within another. */
function selectPhrases(names: readonly FoundName[]): FoundName[] {
  const phrases = new Map<string, FoundName>();
  let end = 0;
  for (const name of names) {
    if (name.stems.length === 1 || name.from < end) continue;
    end = name.to;
    phrases.set(name.stems.join(" "), name);
  }
  return [...phrases.values()];
}

function toPhraseTerm(
  { from, to, stems, asked }: FoundName,
  { words, askingWords }: QuestionText,
  weighted: readonly Weighted[],
  language: Language,
): UnknownTerm {
  const own = weighted.filter(({ word }) => words.slice(from, to).includes(word));
  const isAsking =
    own.length > 0 && own.every(({ word }) => isAskingWord(removeElision(word)) || askingWords.has(word));
  const isGeneric = own.length > 0 && own.every(({ word }) => isGenericAction(word));
  const heaviest = Math.max(...(own.length > 0 ? own : weighted).map(({ weight }) => weight), 0);
  return {
    stem: stems.join(" "),
    parts: [...extractTerms(words.slice(from, to).join(" "), language)],
    related: [],
    concepts: asked,
    weight: Math.sqrt(heaviest || 1) * (isAsking ? ASKING_FACTOR : isGeneric ? GENERIC_FACTOR : 1),
    isAsking,
    isGeneric,
  };
}

/** Returns the words that the search added as parts of a compound: "node" and "js" for "Node.js". They are no words of the message. */
function findPartsOfCompounds(words: readonly string[], weighted: readonly Weighted[]): Set<string> {
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
  const last = terms.findLast(({ isAsking, isGeneric }) => !isAsking && !isGeneric);
  const actions = extractTerms(findActionWords(message).join(" "), language);
  const subjects = new Set([
    ...actions,
    ...(head.size > 0 ? head : nouns.size > 0 || last === undefined ? nouns : [last.stem]),
  ]);
  for (const stem of extractTerms(findOwnedWord(message) ?? "", language)) subjects.delete(stem);
  return subjects;
}
