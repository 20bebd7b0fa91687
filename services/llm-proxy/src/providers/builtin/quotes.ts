import type { Passage, QueryTerm } from "@parley/rpc/llm";
import { detectLanguage, type Language } from "./language.ts";
import { joinSentences, sentencesOf } from "./sentences.ts";
import { isMisspelling, termsOf, wordsOf } from "./terms.ts";

/** Sentences of one passage that bear on a message. */
export type Quote = { passage: Passage; text: string; score: number };

/** The share of a message, weighed by how telling its words are, that one sentence under its title must speak of to count as an answer. */
const MIN_COVERAGE = 0.38;
/** The same, where only the passages themselves tell which words are telling: of a whole passage. */
const MIN_UNWEIGHED_COVERAGE = 0.5;
/** Another passage is quoted if it is nearly as good; where nothing better is known than the passages, it must be nearer. */
const NEARLY = 0.6;
const NEARLY_UNWEIGHED = 0.85;
const MAX_QUOTES = 5;
const MAX_UNWEIGHED_QUOTES = 2;
const MAX_QUERY_TERMS = 48;
/** A quotation is filled up with the sentences around the best ones to this length, and grows no longer than the other. */
const FULL_CHARACTERS = 500;
const MAX_CHARACTERS = 600;
/** What a word in the title is worth beside one in the sentence itself. */
const TITLE = 0.6;
/** What a thousand more characters must be worth. */
const LENGTH_COST = 0.1;
/** What it is worth that a sentence begins with what is asked about, as one does that says what it is. */
const SUBJECT = 0.2;
const RANK_COST = 0.03;

type Query = { weights: ReadonlyMap<string, number>; total: number; isWeighed: boolean };

type Read = {
  passage: Passage;
  title: Set<string>;
  sentences: string[];
  terms: Set<string>[];
  /** The terms of each sentence's first word. */
  subjects: Set<string>[];
  all: Set<string>;
};

/**
 * The sentences that answer a message best, best first; none when nothing really matches. The same input gives the same output.
 *
 * @param terms what the message asks about, as the search that found the passages has weighed it against all that the bot knows; without
 *              them the passages alone tell
 */
export function bestQuotes(message: string, passages: readonly Passage[], terms: readonly QueryTerm[] = []): Quote[] {
  const language = detectLanguage(wordsOf([message, ...passages.map((passage) => passage.text)].join("\n")));
  const read = passages.map((passage) => readPassage(passage, language));
  const query =
    terms.length > 0
      ? weighed(terms, language)
      : weigh([...termsOf(message, language)].slice(0, MAX_QUERY_TERMS), read);
  if (query.total === 0 || !isAnswered(query, read)) return [];
  const quotes = read
    .map((each, rank) => {
      const quote = bestSentences(query, each);
      return { ...quote, score: quote.score + coverage(query, each.all) / 2 - rank * RANK_COST };
    })
    .sort((one, other) => other.score - one.score);
  const best = quotes[0]?.score ?? 0;
  const [nearly, most] = query.isWeighed ? [NEARLY, MAX_QUOTES] : [NEARLY_UNWEIGHED, MAX_UNWEIGHED_QUOTES];
  return quotes.filter((quote) => quote.score >= best * nearly).slice(0, most);
}

function isAnswered(query: Query, read: readonly Read[]): boolean {
  if (!query.isWeighed) return read.some((each) => coverage(query, each.all) >= MIN_UNWEIGHED_COVERAGE);
  // Less uneven than for ranking: people put it in other words, and one of theirs that stands nowhere must not outweigh the rest.
  const even = toQuery(new Map([...query.weights].map(([term, weight]) => [term, Math.sqrt(weight)])), true);
  return read.some(({ terms, title }) =>
    terms.some((sentence) => coverage(even, new Set([...sentence, ...title])) >= MIN_COVERAGE),
  );
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
  return toQuery(weights, false);
}

/** The terms as the search has weighed them, against all that the bot knows. */
function weighed(terms: readonly QueryTerm[], language: Language): Query {
  const weights = new Map<string, number>();
  for (const { word, weight } of terms.slice(0, MAX_QUERY_TERMS))
    for (const term of termsOf(word, language)) weights.set(term, Math.max(weight, weights.get(term) ?? 0));
  return toQuery(weights, true);
}

function toQuery(weights: ReadonlyMap<string, number>, isWeighed: boolean): Query {
  return { weights, total: [...weights.values()].reduce((sum, weight) => sum + weight, 0), isWeighed };
}

function coverage({ weights, total }: Query, terms: ReadonlySet<string>): number {
  let covered = 0;
  for (const [term, weight] of weights) if (terms.has(term)) covered += weight;
  return covered / total;
}

/** The run of sentences that covers most with least, filled up with what stands around it. */
function bestSentences(query: Query, { passage, title, sentences, terms, subjects }: Read): Quote {
  let best = { from: 0, to: 1, score: Number.NEGATIVE_INFINITY };
  for (let from = 0; from < sentences.length; from++) {
    const subject = coverage(query, subjects[from] ?? new Set()) * SUBJECT;
    const inside = new Set<string>();
    for (let to = from + 1, length = 0; to <= sentences.length; to++) {
      length += (sentences[to - 1]?.length ?? 0) + 1;
      if (to > from + 1 && length > MAX_CHARACTERS) break;
      for (const term of terms[to - 1] ?? []) inside.add(term);
      const within = coverage(query, inside);
      const withTitle = coverage(query, new Set([...inside, ...title]));
      const score = within + (withTitle - within) * TITLE - (length / 1_000) * LENGTH_COST + subject;
      if (score > best.score) best = { from, to, score };
    }
  }
  return { passage, text: joinSentences(filledUp(sentences, best)), score: best.score };
}

/** A run with the sentences before it, which it may lean on, then those after it, as long as they fit. */
function filledUp(sentences: readonly string[], run: { from: number; to: number }): string[] {
  let { from, to } = run;
  for (;;) {
    const length = sentences.slice(from, to).join(" ").length;
    const fits = (index: number) =>
      length + 1 + (sentences[index]?.length ?? Number.POSITIVE_INFINITY) <= MAX_CHARACTERS;
    if (length >= FULL_CHARACTERS) break;
    if (fits(from - 1)) from--;
    else if (fits(to)) to++;
    else break;
  }
  return sentences.slice(from, to);
}
