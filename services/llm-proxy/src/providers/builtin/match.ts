import type { Day } from "@parley/bot-rules/questions";
import type { Candidate, Place } from "./candidates.ts";

/** The value of a query term by the place where it occurs. */
export const PLACE_VALUES: Record<Place, number> = { sentence: 1, heading: 0.7, previous: 0.5, title: 0.4 };
/** The value of a term of which only a part occurs, such as a part of a German compound. */
const PARTIAL_VALUE = 0.6;
/** The value of a phrase or compound of which only the last part occurs: a gift card is not any card. */
const HEAD_VALUE = 0.4;
/** The value of a term that is the head of a compound: textbooks are books. */
const COMPOUND_VALUE = 0.8;
/** The value of a term of which a synonym occurs. */
const SYNONYM_VALUE = 0.8;
const MIN_PARTIAL_CHARACTERS = 5;
/** The value of a sentence that names other days than those asked about: "Open from Monday to Saturday" answers "Are you open on Sunday?". */
const OTHER_DAY_VALUE = 0.5;

/** A word of a question, or a phrase that the lists of synonyms have. */
export type Term = {
  /** Of a phrase, the stems of its words. */
  stem: string;
  /** The stems of a phrase's words, without stop words. Empty for a word. */
  parts: readonly string[];
  /** Stems of longer words that the search looked for instead. Empty if it looked for the word itself. */
  related: readonly string[];
  /** What the documents may call it. */
  concepts: readonly string[];
  weight: number;
  isKnown: boolean;
  isAsking: boolean;
  /** Whether it is a verb that documents leave out, or a part of the day. */
  isGeneric: boolean;
  /** Of the term that stands for all words that say which days. */
  days?: ReadonlySet<Day>;
};

export type SearchedTerm = Pick<Term, "stem" | "parts" | "related" | "concepts" | "days">;

/** Returns how well a candidate covers a term, from 0 to 1. */
export function coverTerm(term: SearchedTerm, { terms, days, refersToPrevious }: Candidate): number {
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
export function namesTerm(term: SearchedTerm, { terms, days }: Candidate): boolean {
  return term.days === undefined
    ? matchTerm(term, terms.sentence) > 0
    : coverDays(term.days, days) === PLACE_VALUES.sentence;
}

export function matchTerm({ stem, parts, related, concepts }: SearchedTerm, terms: ReadonlySet<string>): number {
  if (terms.has(stem) || related.some((each) => terms.has(each))) return 1;
  // Of "sur place", a single word without its stop words says too little.
  if (parts.length > 1 && parts.every((each) => terms.has(each))) return 1;
  if (concepts.some((each) => terms.has(each))) return SYNONYM_VALUE;
  let value = parts.length > 0 && terms.has(parts.at(-1) ?? "") ? HEAD_VALUE : 0;
  for (const term of terms)
    if (isPart(stem, term)) value = Math.max(value, term.endsWith(stem) ? COMPOUND_VALUE : PARTIAL_VALUE);
    else if (isPart(term, stem)) value = Math.max(value, stem.endsWith(term) ? HEAD_VALUE : PARTIAL_VALUE);
  return value;
}

export function isPart(part: string, whole: string): boolean {
  return part.length >= MIN_PARTIAL_CHARACTERS && (whole.startsWith(part) || whole.endsWith(part));
}
