import { createRequire } from "node:module";
import { getPublicSuffix } from "tldts";
import type * as Trie from "tldts/dist/types/src/data/trie.js";

// tldts has no function that lists suffixes. trie.js is an internal file of tldts, so a test compares its data with tldts's public functions.
const { edgeChild, edgeLength, edgeStart, labelText, rulesRoot }: typeof Trie = createRequire(import.meta.url)(
  "tldts/dist/cjs/src/data/trie.js",
);

/** The names above a suffix, such as amazonaws.com above s3.amazonaws.com. */
const namesAboveSuffixes = new Set(listSuffixRules().flatMap(listParents));

/**
 * Whether strangers can register names below the host, at any depth, according to the Public Suffix List. The list includes suffixes of
 * hosting companies, such as github.io.
 */
export function coversPublicSuffix(host: string): boolean {
  // `any.` matches a rule with a wildcard, such as *.ck.
  return isPublicSuffix(host) || isPublicSuffix(`any.${host}`) || namesAboveSuffixes.has(host);
}

export function isPublicSuffix(host: string): boolean {
  return getPublicSuffix(host, { allowPrivateDomains: true }) === host;
}

/**
 * Lists the rules of the Public Suffix List that are not the end of a longer rule: `co.uk` and `*.ck`, but not `uk`. Omits exception
 * rules, such as `!www.ck`.
 */
export function listSuffixRules(): string[] {
  let offset = 0;
  const labels = Array.from(edgeLength, (length) => {
    offset += length;
    return labelText.slice(offset - length, offset);
  });
  const listBelow = (node: number, parent: string): string[] => {
    const first = edgeStart[node] ?? 0;
    const end = edgeStart[node + 1] ?? 0;
    if (first === end) return [parent.slice(1)];
    return labels
      .slice(first, end)
      .flatMap((label, index) => listBelow(edgeChild[first + index] ?? 0, `.${label}${parent}`));
  };
  return listBelow(rulesRoot, "");
}

/** Returns the names above a rule: for `a.b.c`, `b.c` and `c`. */
function listParents(rule: string): string[] {
  const labels = rule.split(".");
  return labels.slice(1).map((_, index) => labels.slice(index + 1).join("."));
}
