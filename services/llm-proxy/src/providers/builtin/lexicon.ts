import { SYNONYM_LISTS } from "@parley/bot-rules/questions";
import type { Language } from "./language.ts";
import { removeElision, splitWords, stemWord } from "./terms.ts";

/** A name of the lists of synonyms that occurs in a text. */
export type FoundName = {
  /** The position of its first word in the text, and the position after its last. */
  from: number;
  to: number;
  stems: readonly string[];
  /** Identifies what a document that contains the name is about. */
  concepts: readonly string[];
  /** The concepts of documents that a question with the name is about: a question about dogs is also about pets. */
  asked: readonly string[];
};

type Name = { stems: readonly string[]; concepts: Set<string>; asked: Set<string> };

type Lexicon = { byFirstStem: ReadonlyMap<string, readonly Name[]>; stemsOfStopWords: ReadonlySet<string> };

const NUMBER = "#";
const PHONE_NUMBER = /(?<![\p{N}.,])\+?\p{N}{2,5}(?:[ /-]?\p{N}){5,12}(?![\p{N}.,]\p{N})/gu;
const MIN_STEM_CHARACTERS = 4;
const LEXICONS = new Map<string, Lexicon>();

/** Returns the names in a text. If names overlap, returns all of them, the longest first at each position. */
export function findNames(text: string, language: Language): FoundName[] {
  const stems = splitNameStems(text, language);
  const { byFirstStem, stemsOfStopWords } = readLexicon(language);
  const isSkipped = (stem: string) => stemsOfStopWords.has(stem);
  return stems.flatMap((stem, from) =>
    (byFirstStem.get(toKey(stem)) ?? []).flatMap((name) => {
      const to = matchName(name, stems, from, isSkipped);
      return to === undefined
        ? []
        : [{ from, to, stems: name.stems, concepts: [...name.concepts], asked: [...name.asked] }];
    }),
  );
}

/** Returns the position after a name's last word, or undefined if the text does not have the name at `from`. One stop word may be between two words. */
function matchName(
  { stems: expected }: Name,
  stems: readonly string[],
  from: number,
  isSkipped: (stem: string) => boolean,
): number | undefined {
  let at = from;
  for (const [index, stem] of expected.entries()) {
    if (index > 0 && !isSame(stem, stems[at]) && isSkipped(stems[at] ?? "")) at++;
    if (!isSame(stem, stems[at])) return undefined;
    at++;
  }
  return at;
}

function isSame(expected: string, stem: string | undefined): boolean {
  return stem !== undefined && expected === toKey(stem, expected);
}

/** Returns the stems of all words of a text. Unrelated words often have the same short stem, so the word itself stands for a short stem. */
function splitNameStems(text: string, language: Language): string[] {
  const words = splitWords(nameSymbols(text)).map(removeElision);
  return words.map((word) => {
    const stem = stemWord(word, language);
    return stem.length < MIN_STEM_CHARACTERS ? word.replace(/'?s$/, "") : stem;
  });
}

/** Adds the names that the lists of synonyms have for symbols. */
function nameSymbols(text: string): string {
  return text.replaceAll("%", " percent ").replace(PHONE_NUMBER, "$& phonenumber ");
}

/** Returns the concepts of documents that a text asks about. */
export function listAskedConcepts(text: string, language: Language): string[] {
  return findNames(text, language).flatMap(({ asked }) => asked);
}

/** Returns a stem as names have it. */
function toKey(stem: string, expected = NUMBER): string {
  return expected === NUMBER && /^\p{N}/u.test(stem) ? NUMBER : stem;
}

function readLexicon(language: Language): Lexicon {
  const lexicon = LEXICONS.get(language.code) ?? createLexicon(language);
  LEXICONS.set(language.code, lexicon);
  return lexicon;
}

function createLexicon(language: Language): Lexicon {
  const { groups, kinds } = SYNONYM_LISTS[language.code] ?? { groups: [], kinds: [] };
  const names = new Map<string, Name>();
  const nameOf = (text: string): Name => {
    const stems = text.split(" ").flatMap((word) => (word === NUMBER ? [NUMBER] : splitNameStems(word, language)));
    const name = names.get(stems.join(" ")) ?? { stems, concepts: new Set(), asked: new Set() };
    names.set(stems.join(" "), name);
    return name;
  };
  for (const [index, group] of groups.entries())
    for (const each of group) {
      const { concepts, asked } = nameOf(each);
      concepts.add(`#${index}`);
      asked.add(`#${index}`);
    }
  for (const [index, { names: ofKind, things }] of kinds.entries()) {
    const [kind, thing] = [`#kind ${index}`, `#thing ${index}`];
    for (const each of ofKind) {
      nameOf(each).concepts.add(kind);
      for (const concept of [kind, thing]) nameOf(each).asked.add(concept);
    }
    for (const each of things) {
      nameOf(each).concepts.add(thing);
      nameOf(each).asked.add(kind);
    }
  }
  const byFirst = new Map<string, Name[]>();
  for (const name of names.values())
    byFirst.set(name.stems[0] ?? "", [...(byFirst.get(name.stems[0] ?? "") ?? []), name]);
  for (const each of byFirst.values()) each.sort((one, other) => other.stems.length - one.stems.length);
  return {
    byFirstStem: byFirst,
    stemsOfStopWords: new Set([...language.stopWords].flatMap((word) => splitNameStems(word, language))),
  };
}
