const MAX_PART_CHARACTERS = 1_024;

/**
 * Splits a text into parts of at most 1,024 UTF-16 code units, never within a surrogate pair. The buffers on the way to the visitor
 * limit the number of stream events, not of bytes, so no event may be large.
 */
export function* splitText(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > MAX_PART_CHARACTERS) {
    const end = start + MAX_PART_CHARACTERS;
    const isPairSplit = (text.codePointAt(end - 1) ?? 0) > 0xffff;
    const cut = isPairSplit ? end - 1 : end;
    yield text.slice(start, cut);
    start = cut;
  }
  yield text.slice(start);
}
