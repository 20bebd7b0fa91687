import { splitCompound } from "./compounds.ts";
import * as de from "./synonyms/de.ts";
import * as en from "./synonyms/en.ts";
import * as es from "./synonyms/es.ts";
import * as fr from "./synonyms/fr.ts";
import * as it from "./synonyms/it.ts";

/**
 * What visitors and small businesses call the same things. Each name is a word or a phrase in lower case, without hyphens. In a phrase, `#`
 * stands for a number.
 */
export type SynonymLists = {
  /** The names of a group mean about the same. A name can be in several groups. */
  groups: readonly (readonly string[])[];
  /** Things are of a kind: dogs are pets, but cats are not dogs. */
  kinds: readonly { names: readonly string[]; things: readonly string[] }[];
};

type Source = { GROUPS: string; KINDS: string };

const GERMAN = parseLists(de);

/** By ISO 639-1 code of the language. */
export const SYNONYM_LISTS: Readonly<Record<string, SynonymLists>> = {
  de: GERMAN,
  en: parseLists(en),
  es: parseLists(es),
  fr: parseLists(fr),
  it: parseLists(it),
};

function parseLists({ GROUPS, KINDS }: Source): SynonymLists {
  const kinds = splitLines(KINDS).map((line) => line.split(": "));
  return {
    groups: splitLines(GROUPS).map(splitNames),
    kinds: kinds.map(([names = "", things = ""]) => ({ names: splitNames(names), things: splitNames(things) })),
  };
}

function splitLines(text: string): string[] {
  return text.trim().split("\n");
}

function splitNames(line: string): string[] {
  return line.split(", ");
}

const WORD = /#|[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}]+)*/gu;
const ELISION = /^(?:\p{L}|dell|all|nell|dall|sull|qu)'/u;

/** Shorter words of phrases are not searched for. */
const MIN_WORD_CHARACTERS = 3;
/** Between two words of a phrase. */
const MAX_SKIPPED_CHARACTERS = 4;

type Name = { keys: readonly string[]; related: readonly string[] };

/** Of all languages together, by the first key. */
const NAMES = new Map<string, Name[]>();
for (const { groups, kinds } of Object.values(SYNONYM_LISTS)) {
  for (const group of groups) for (const name of group) relate(name, group);
  for (const { names, things } of kinds) {
    for (const thing of things) relate(thing, names);
    for (const name of names) relate(name, things);
  }
}

function relate(name: string, others: readonly string[]): void {
  const keys = toKeys(name);
  const [first = ""] = keys;
  const related = others.filter((other) => other !== name);
  NAMES.set(first, [...(NAMES.get(first) ?? []), { keys, related }]);
}

/** The keys of the German names of one word. Only German compounds are split: the English "database" is no "data" and "base". */
const GERMAN_KEYS = new Set(
  [...GERMAN.groups, ...GERMAN.kinds.flatMap(({ names, things }) => [names, things])]
    .flat()
    .map(toKeys)
    .flatMap((keys) => (keys.length === 1 ? keys : [])),
);

/** Returns the words of a text without their endings. */
function toKeys(text: string): string[] {
  return toWords(text).map(removeEnding);
}

function toWords(text: string): string[] {
  const words = text.toLowerCase().replaceAll("’", "'").match(WORD) ?? [];
  return words.map((word) => word.replace(ELISION, ""));
}

/** Removes the ending of a plural or of a verb. The result only has to be the same for the forms of a word. */
function removeEnding(word: string): string {
  return word.replace(
    /(?<=...)(?:iamo|áis|éis|ate|ete|ite|are|ere|ire|ons|ing|[aeio]s|ez|er|ar|ir|ed|en|[aeiosn])$/u,
    "",
  );
}

/** Returns the words of names that mean about the same as a name in a text, or a kind of it, in any language. Also of the parts of a German compound. */
export function listSynonyms(text: string): string[] {
  const parts = toWords(text).flatMap((word) => (isGermanName(word) ? [] : splitCompound(word, isGermanName)));
  const keys = toKeys(text);
  return listRelated(keys).concat(parts, listRelated(toKeys(parts.join(" "))));
}

function isGermanName(word: string): boolean {
  return GERMAN_KEYS.has(removeEnding(word));
}

function listRelated(keys: readonly string[]): string[] {
  const found = keys.flatMap((key, from) => (NAMES.get(key) ?? []).filter((name) => isAt(name, keys, from)));
  const related = new Set(found.flatMap((name) => name.related).flatMap((name) => name.split(" ")));
  for (const own of keys) related.delete(own);
  return [...related].filter((word) => word.length >= MIN_WORD_CHARACTERS);
}

/** Whether a text has a name at a position. One short word may be between two of its words, as in "leave my car". */
function isAt({ keys: expected }: Name, keys: readonly string[], from: number): boolean {
  let at = from;
  for (const [index, key] of expected.entries()) {
    if (index > 0 && keys[at] !== key && (keys[at]?.length ?? 0) <= MAX_SKIPPED_CHARACTERS) at++;
    if (keys[at] !== key) return false;
    at++;
  }
  return true;
}
