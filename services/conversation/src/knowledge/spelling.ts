const MIN_CHARACTERS = 4;
const LONG_CHARACTERS = 8;
/** Shorter words that differ in a letter are mostly two words (`bread`, `break`); one too many, too few or swapped is a slip. */
const MIN_CHANGED_CHARACTERS = 6;
/** Of the letter triples of both words, how many they share; below this two words only look alike to a counter of letters. */
const MIN_SIMILARITY = 0.3;

/** Whether a word is one that can be taken for a misspelling: not too short, and of letters. */
export function canBeMisspelt(word: string): boolean {
  return word.length >= MIN_CHARACTERS && /^[\p{L}\p{M}']+$/u.test(word);
}

/**
 * How a misspelt word begins and ends. One slip, or two letters swapped, leaves one half of a word as it was, so that a word that begins or
 * ends like this is all that need be looked at.
 */
export function unchangedEnds(word: string): { beginning: string; end: string } {
  const letters = Array.from(word);
  const length = Math.max(2, Math.floor((letters.length - 1) / 2));
  return { beginning: letters.slice(0, length).join(""), end: letters.slice(-length).join("") };
}

/** The words that a misspelt one stands for most likely, all of the same likelihood; none when nothing is near enough. */
export function corrections(word: string, candidates: readonly string[]): string[] {
  const bound = word.length >= LONG_CHARACTERS ? 2 : 1;
  const near = candidates
    .filter((candidate) => candidate.length >= MIN_CHARACTERS - 1 && beginsAlike(word, candidate))
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate, bound) }))
    .filter(({ distance }) => distance <= bound)
    .map((each) => ({ ...each, similarity: similarity(word, each.candidate) }))
    .filter((each) => each.similarity >= MIN_SIMILARITY)
    .sort((one, other) => one.distance - other.distance || other.similarity - one.similarity);
  const best = near[0];
  return near
    .filter((each) => each.distance === best?.distance && each.similarity === best.similarity)
    .map(({ candidate }) => candidate);
}

/** Slips of the first letter are rare, but for its being swapped with the second. */
function beginsAlike(one: string, other: string): boolean {
  return one[0] === other[0] || (one[0] === other[1] && one[1] === other[0]);
}

/** Letters to add, take out, change or swap with the next to get from one word to the other; a number above `bound` when they are more. */
export function editDistance(one: string, other: string, bound: number): number {
  if (Math.abs(one.length - other.length) > bound) return bound + 1;
  const change = Math.max(one.length, other.length) < MIN_CHANGED_CHARACTERS ? bound + 1 : 1;
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const changed = (last[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : change);
      const swapped =
        i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
          ? (before[j - 2] ?? 0) + 1
          : changed;
      row.push(Math.min(changed, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    if (Math.min(...row) > bound) return bound + 1;
    before = last;
    last = row;
  }
  return last.at(-1) ?? 0;
}

/** The share of their letter triples, with a blank before and after each word, that two words have in common: 0 to 1. */
function similarity(one: string, other: string): number {
  const [mine, theirs] = [triples(one), triples(other)];
  const shared = [...mine].filter((triple) => theirs.has(triple)).length;
  return shared / (mine.size + theirs.size - shared);
}

function triples(word: string): Set<string> {
  const padded = `  ${word} `;
  return new Set(Array.from({ length: padded.length - 2 }, (_, index) => padded.slice(index, index + 3)));
}
