/** Shorter words are not corrected. */
const MIN_CHARACTERS = 4;
/** From this length on, a correction may be two edits away instead of one. */
const MIN_LONG_WORD_CHARACTERS = 8;
/** In shorter words a substituted letter usually makes another word (`bread`, `break`), so a substitution does not count as a misspelling. */
const MIN_SUBSTITUTION_CHARACTERS = 6;
/** Smallest accepted trigram similarity. Below this, two words within the edit distance are rarely related. */
const MIN_SIMILARITY = 0.3;
export const MIN_RELATED_CHARACTERS = 5;
/** A compound, and each of its parts, has at least so many letters. */
const MIN_COMPOUND_CHARACTERS = 8;
const MIN_PART_CHARACTERS = 4;
const MAX_RELATED = 3;

export function isCorrectable(word: string): boolean {
  return word.length >= MIN_CHARACTERS && /^[\p{L}\p{M}']+$/u.test(word);
}

/**
 * Returns the prefix and the suffix by which to look up candidates. A correction that is one edit away has the same prefix or suffix, unless
 * the two middle letters of a four-letter word are swapped. A correction that is two edits away may have neither and is then missed.
 */
export function prefixAndSuffixOf(word: string): { prefix: string; suffix: string } {
  const letters = Array.from(word);
  const length = Math.max(2, Math.floor((letters.length - 1) / 2));
  return { prefix: letters.slice(0, length).join(""), suffix: letters.slice(-length).join("") };
}

/** Returns the candidates closest to a misspelt word; several if they are equally close, none if no candidate is close enough. */
export function findCorrections(word: string, candidates: readonly string[]): string[] {
  const maxDistance = word.length >= MIN_LONG_WORD_CHARACTERS ? 2 : 1;
  const near = candidates
    // A correction may be one letter shorter than the misspelling.
    .filter((candidate) => candidate.length >= MIN_CHARACTERS - 1 && hasSimilarStart(word, candidate))
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate, maxDistance) }))
    .filter(({ distance }) => distance <= maxDistance)
    .map((each) => ({ ...each, similarity: trigramSimilarity(word, each.candidate) }))
    .filter((each) => each.similarity >= MIN_SIMILARITY)
    .sort((one, other) => one.distance - other.distance || other.similarity - one.similarity);
  const best = near[0];
  return near
    .filter((each) => each.distance === best?.distance && each.similarity === best.similarity)
    .map(({ candidate }) => candidate);
}

/**
 * Returns the candidates that begin or end with a word: `Haftpflichtversicherung` for `versicherung`, `parking` for `park`. The shortest first,
 * because it is the most closely related; none for a short word, because many unrelated words contain it.
 */
export function findRelated(word: string, candidates: readonly string[]): string[] {
  if (word.length < MIN_RELATED_CHARACTERS) return [];
  return candidates
    .filter((candidate) => candidate !== word && (candidate.startsWith(word) || candidate.endsWith(word)))
    .sort((one, other) => one.length - other.length)
    .slice(0, MAX_RELATED);
}

/** Returns the beginnings and endings of a long word that may be words of which it is a compound. */
export function listCompoundParts(word: string): string[] {
  if (word.length < MIN_COMPOUND_CHARACTERS) return [];
  const lengths = Array.from(
    { length: word.length - 2 * MIN_PART_CHARACTERS + 1 },
    (_, index) => MIN_PART_CHARACTERS + index,
  );
  return lengths.flatMap((length) => [word.slice(0, length), word.slice(-length)]);
}

/** Returns the longest of `known` that a compound begins with, and the longest that it ends with: `Versand` and `Kosten` of `Versandkosten`. */
export function findCompoundParts(word: string, known: ReadonlySet<string>): string[] {
  const parts = listCompoundParts(word).filter((part) => known.has(part));
  const longest = (matches: (part: string) => boolean) =>
    parts.filter(matches).sort((one, other) => other.length - one.length)[0];
  const found = [longest((part) => word.startsWith(part)), longest((part) => word.endsWith(part))];
  return [...new Set(found.filter((part) => part !== undefined))];
}

/** Misspellings rarely change the first letter, except by swapping it with the second. */
function hasSimilarStart(one: string, other: string): boolean {
  return one[0] === other[0] || (one[0] === other[1] && one[1] === other[0]);
}

/**
 * Returns the number of insertions, deletions, substitutions and swaps of neighbouring letters between two words. In short words a
 * substitution counts as `maxDistance + 1`. If the distance exceeds `maxDistance`, the result also exceeds it, but may be lower than the distance.
 */
export function editDistance(one: string, other: string, maxDistance: number): number {
  if (Math.abs(one.length - other.length) > maxDistance) return maxDistance + 1;
  const substitutionCost = Math.max(one.length, other.length) < MIN_SUBSTITUTION_CHARACTERS ? maxDistance + 1 : 1;
  let rowBeforePrevious: number[] = [];
  let previousRow = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const substituted = (previousRow[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : substitutionCost);
      const swapped =
        i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
          ? (rowBeforePrevious[j - 2] ?? 0) + 1
          : substituted;
      row.push(Math.min(substituted, swapped, (previousRow[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    if (Math.min(...row) > maxDistance) return maxDistance + 1;
    rowBeforePrevious = previousRow;
    previousRow = row;
  }
  return previousRow.at(-1) ?? 0;
}

/** Returns the Jaccard similarity of two words' trigrams, from 0 to 1, like similarity() of pg_trgm. */
function trigramSimilarity(one: string, other: string): number {
  const [first, second] = [trigrams(one), trigrams(other)];
  const shared = [...first].filter((trigram) => second.has(trigram)).length;
  return shared / (first.size + second.size - shared);
}

function trigrams(word: string): Set<string> {
  const padded = `  ${word} `;
  return new Set(Array.from({ length: padded.length - 2 }, (_, index) => padded.slice(index, index + 3)));
}
