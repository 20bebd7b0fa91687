import type { Passage, QueryTerm } from "@parley/rpc/llm";
import { detectLanguage, type Language } from "./language.ts";
import { joinSentences, splitSentences } from "./sentences.ts";
import { extractTerms, isMisspelling, splitWords } from "./terms.ts";

/** Sentences of one passage that answer a message. */
export type Quote = { passage: Passage; text: string; score: number };

type Thresholds = {
  /** The share of the query's weight that at least one sentence or passage must contain. Otherwise there is no answer. */
  minCoverage: number;
  /** The share of the best quote's score that another quote needs. */
  minRelativeScore: number;
  maxQuotes: number;
};

/** Used with term weights from the word search. `minCoverage` applies to a sentence together with its passage's title. */
const SEARCH_THRESHOLDS: Thresholds = { minCoverage: 0.38, minRelativeScore: 0.6, maxQuotes: 5 };
/** Used with term weights from the passages alone, which are less reliable. `minCoverage` applies to a whole passage with its title. */
const PASSAGE_THRESHOLDS: Thresholds = { minCoverage: 0.5, minRelativeScore: 0.85, maxQuotes: 2 };

const MAX_QUERY_TERMS = 48;
/** Sentences around the best ones are added until a quote has this length. */
const TARGET_QUOTE_CHARACTERS = 500;
/** A sentence is not added if it would make the quote longer than this. */
const MAX_QUOTE_CHARACTERS = 600;
/** The value of a query term in the passage's title. A query term in the quoted sentences has the value 1. */
const TITLE_VALUE = 0.6;
/** Subtracted from a quote's score per 1,000 characters, so that a shorter quote wins. */
const COST_PER_THOUSAND_CHARACTERS = 0.1;
/** The additional value of a query term as the first word of a quote: definitions begin with their subject. */
const FIRST_WORD_VALUE = 0.2;
/** Subtracted from a quote's score for each passage that precedes the quoted passage in the prompt. */
const RANK_COST = 0.03;

/** The terms of a message. Rare terms weigh more, because they identify the message's subject. */
type Query = { weights: ReadonlyMap<string, number>; total: number; isFromSearch: boolean };

type PassageTerms = {
  passage: Passage;
  /** The terms of the passage's title: its source and its heading. */
  titleTerms: Set<string>;
  sentences: string[];
  sentenceTerms: Set<string>[];
  firstWordTerms: Set<string>[];
  allTerms: Set<string>;
};

/**
 * Returns the quotes that answer a message, the best first, or an empty array if there is no answer. Deterministic.
 *
 * @param terms the message's terms with the weights of the word search; if empty, the terms are extracted
 *   from `message` and weighted by their rarity in the passages
 */
export function findQuotes(message: string, passages: readonly Passage[], terms: readonly QueryTerm[] = []): Quote[] {
  const language = detectLanguage(splitWords([message, ...passages.map((passage) => passage.text)].join("\n")));
  const candidates = passages.map((passage) => analysePassage(passage, language));
  const query =
    terms.length > 0
      ? buildQueryFromSearchTerms(terms, language)
      : buildQueryFromPassages([...extractTerms(message, language)].slice(0, MAX_QUERY_TERMS), candidates);
  if (query.total === 0 || !hasAnswer(query, candidates)) return [];
  const quotes = candidates
    .map((each, rank) => {
      const quote = findBestSentences(query, each);
      return { ...quote, score: quote.score + computeCoverage(query, each.allTerms) / 2 - rank * RANK_COST };
    })
    .sort((one, other) => other.score - one.score);
  const bestScore = quotes[0]?.score ?? 0;
  const { minRelativeScore, maxQuotes } = query.isFromSearch ? SEARCH_THRESHOLDS : PASSAGE_THRESHOLDS;
  return quotes.filter((quote) => quote.score >= bestScore * minRelativeScore).slice(0, maxQuotes);
}

function hasAnswer(query: Query, candidates: readonly PassageTerms[]): boolean {
  if (!query.isFromSearch)
    return candidates.some((each) => computeCoverage(query, each.allTerms) >= PASSAGE_THRESHOLDS.minCoverage);
  // Square roots make the weights more even, so that one rare word of the message does not decide alone.
  const evenWeights = new Map([...query.weights].map(([term, weight]) => [term, Math.sqrt(weight)]));
  const evenQuery = toQuery(evenWeights, true);
  return candidates.some(({ sentenceTerms, titleTerms }) =>
    sentenceTerms.some(
      (each) => computeCoverage(evenQuery, new Set([...each, ...titleTerms])) >= SEARCH_THRESHOLDS.minCoverage,
    ),
  );
}

function analysePassage(passage: Passage, language: Language): PassageTerms {
  const titleTerms = extractTerms(`${passage.source} ${passage.heading}`, language);
  const sentences = splitSentences(passage.text);
  const sentenceTerms = sentences.map((sentence) => extractTerms(sentence, language));
  const firstWordTerms = sentences.map((sentence) => extractTerms(splitWords(sentence)[0] ?? "", language));
  return {
    passage,
    titleTerms,
    sentences,
    sentenceTerms,
    firstWordTerms,
    allTerms: new Set([...titleTerms, ...sentenceTerms.flatMap((each) => [...each])]),
  };
}

/**
 * Weights terms by their rarity in the passages. First corrects misspelled terms to terms of the passages.
 * buildQueryFromSearchTerms corrects no terms, because the word search has already corrected them.
 */
function buildQueryFromPassages(terms: readonly string[], candidates: readonly PassageTerms[]): Query {
  const vocabulary = new Set(candidates.flatMap((each) => [...each.allTerms]));
  const corrected = terms.map((term) =>
    vocabulary.has(term) ? term : ([...vocabulary].find((each) => isMisspelling(term, each)) ?? term),
  );
  const weights = new Map(
    corrected.map((term) => {
      const containing = candidates.filter((each) => each.allTerms.has(term)).length;
      return [term, 1 + Math.log((candidates.length + 1) / (containing + 1))];
    }),
  );
  return toQuery(weights, false);
}

function buildQueryFromSearchTerms(terms: readonly QueryTerm[], language: Language): Query {
  const weights = new Map<string, number>();
  for (const { word, weight } of terms.slice(0, MAX_QUERY_TERMS))
    for (const term of extractTerms(word, language)) weights.set(term, Math.max(weight, weights.get(term) ?? 0));
  return toQuery(weights, true);
}

function toQuery(weights: ReadonlyMap<string, number>, isFromSearch: boolean): Query {
  return { weights, total: [...weights.values()].reduce((sum, weight) => sum + weight, 0), isFromSearch };
}

function computeCoverage({ weights, total }: Query, terms: ReadonlySet<string>): number {
  let covered = 0;
  for (const [term, weight] of weights) if (terms.has(term)) covered += weight;
  return covered / total;
}

/** Returns the consecutive sentences with the best score, and sentences around them (see addContext). */
function findBestSentences(
  query: Query,
  { passage, titleTerms, sentences, sentenceTerms, firstWordTerms }: PassageTerms,
): Quote {
  let best = { from: 0, to: 1, score: Number.NEGATIVE_INFINITY };
  for (let from = 0; from < sentences.length; from++) {
    const subjectScore = computeCoverage(query, firstWordTerms[from] ?? new Set()) * FIRST_WORD_VALUE;
    const quoted = new Set<string>();
    for (let to = from + 1, length = 0; to <= sentences.length; to++) {
      length += (sentences[to - 1]?.length ?? 0) + 1;
      if (to > from + 1 && length > MAX_QUOTE_CHARACTERS) break;
      for (const term of sentenceTerms[to - 1] ?? []) quoted.add(term);
      const ownCoverage = computeCoverage(query, quoted);
      const titleGain = computeCoverage(query, new Set([...quoted, ...titleTerms])) - ownCoverage;
      const lengthCost = (length / 1_000) * COST_PER_THOUSAND_CHARACTERS;
      const score = ownCoverage + titleGain * TITLE_VALUE - lengthCost + subjectScore;
      if (score > best.score) best = { from, to, score };
    }
  }
  return { passage, text: joinSentences(addContext(sentences, best)), score: best.score };
}

/** Adds sentences around the best ones. Adds preceding sentences first, because the best ones may refer to them. */
function addContext(sentences: readonly string[], best: { from: number; to: number }): string[] {
  let { from, to } = best;
  for (;;) {
    const length = sentences.slice(from, to).join(" ").length;
    const fits = (index: number) =>
      length + 1 + (sentences[index]?.length ?? Number.POSITIVE_INFINITY) <= MAX_QUOTE_CHARACTERS;
    if (length >= TARGET_QUOTE_CHARACTERS) break;
    if (fits(from - 1)) from--;
    else if (fits(to)) to++;
    else break;
  }
  return sentences.slice(from, to);
}
