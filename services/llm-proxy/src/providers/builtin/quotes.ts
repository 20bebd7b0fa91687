import type { Passage } from "@parley/rpc/llm";
import { detectLanguage, type Language } from "./language.ts";
import { joinSentences, sentencesOf } from "./sentences.ts";
import { isMisspelling, termsOf, wordsOf } from "./terms.ts";

/** Sentences of one passage that bear on a message. */
export type Quote = { passage: Passage; text: string; score: number };

/** The share of a message, weighed by how telling its words are, that a passage must speak of to count as an answer. */
const MIN_COVERAGE = 0.5;
/** A second passage is quoted only if it is nearly as good. */
const NEARLY = 0.85;
const MAX_QUOTES = 2;
const MAX_QUERY_TERMS = 48;
const MAX_SENTENCES = 3;
const MIN_CHARACTERS = 80;
/** What a word in the title is worth beside one in the sentence itself. */
const TITLE = 0.6;
const SENTENCE_COST = 0.04;
/** What it is worth that a sentence begins with what is asked about, as one does that says what it is. */
const SUBJECT = 0.2;
const RANK_COST = 0.02;

type Query = { weights: ReadonlyMap<string, number>; total: number };

type Read = {
  passage: Passage;
  title: Set<string>;
  sentences: string[];
  terms: Set<string>[];
  /** The terms of each sentence's first word. */
  subjects: Set<string>[];
  all: Set<string>;
};

/** The sentences that answer a message best, best first; none when nothing really matches. The same input gives the same output. */
export function bestQuotes(message: string, passages: readonly Passage[]): Quote[] {
  const language = detectLanguage(wordsOf([message, ...passages.map((passage) => passage.text)].join("\n")));
  const read = passages.map((passage) => readPassage(passage, language));
  const query = weigh([...termsOf(message, language)].slice(0, MAX_QUERY_TERMS), read);
  if (query.total === 0) return [];
  const quotes = read
    .map((each, rank) => ({ each, rank, covered: coverage(query, each.all) }))
    .filter(({ covered }) => covered >= MIN_COVERAGE)
    .map(({ each, rank, covered }) => {
      const quote = bestSentences(query, each);
      return { ...quote, score: quote.score + covered / 2 - rank * RANK_COST };
    })
    .sort((one, other) => other.score - one.score);
  const best = quotes[0]?.score ?? 0;
  return quotes.filter((quote) => quote.score >= best * NEARLY).slice(0, MAX_QUOTES);
}

function readPassage(passage: Passage, language: Language): Read {
  const title = termsOf(`${passage.source} ${passage.heading}`, language);
  const sentences = sentencesOf(passage.text);
  const terms = sentences.map((sentence) => termsOf(sentence, language));
  const subjects = sentences.map((sentence) => termsOf(wordsOf(sentence)[0] ?? "", language));
  return {
    passage,
    title,
    sentences,
    terms,
    subjects,
    all: new Set([...title, ...terms.flatMap((each) => [...each])]),
  };
}

/** Rare words among the passages weigh more; one that stands in none of them weighs most, unless it is one of theirs misspelt. */
function weigh(terms: readonly string[], read: readonly Read[]): Query {
  const vocabulary = new Set(read.flatMap((each) => [...each.all]));
  const known = terms.map((term) =>
    vocabulary.has(term) ? term : ([...vocabulary].find((each) => isMisspelling(term, each)) ?? term),
  );
  const weights = new Map(
    known.map((term) => {
      const holding = read.filter((each) => each.all.has(term)).length;
      return [term, 1 + Math.log((read.length + 1) / (holding + 1))];
    }),
  );
  return { weights, total: [...weights.values()].reduce((sum, weight) => sum + weight, 0) };
}

function coverage({ weights, total }: Query, terms: ReadonlySet<string>): number {
  let covered = 0;
  for (const [term, weight] of weights) if (terms.has(term)) covered += weight;
  return covered / total;
}

/** The run of sentences that covers most with least. */
function bestSentences(query: Query, { passage, title, sentences, terms, subjects }: Read): Quote {
  let best = { from: 0, to: 1, score: Number.NEGATIVE_INFINITY };
  for (let from = 0; from < sentences.length; from++) {
    const subject = coverage(query, subjects[from] ?? new Set()) * SUBJECT;
    for (let to = from + 1; to <= Math.min(from + MAX_SENTENCES, sentences.length); to++) {
      const inside = new Set(terms.slice(from, to).flatMap((each) => [...each]));
      const within = coverage(query, inside);
      const withTitle = coverage(query, new Set([...inside, ...title]));
      const score = within + (withTitle - within) * TITLE - (to - from - 1) * SENTENCE_COST + subject;
      if (score > best.score) best = { from, to, score };
    }
  }
  // A line that leads over to the next, or says little alone, takes the next along.
  const { from, score } = best;
  let { to } = best;
  const textOf = () => joinSentences(sentences.slice(from, to));
  while (
    to < sentences.length &&
    to - from < MAX_SENTENCES &&
    (textOf().length < MIN_CHARACTERS || textOf().endsWith(":"))
  )
    to++;
  return { passage, text: textOf(), score };
}
