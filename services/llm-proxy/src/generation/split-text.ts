const MAX_PIECE_CHARACTERS = 1_024;

/**
 * A text in pieces of at most 1,024 UTF-16 units, never cut within a character. What waits for a slow reader, at every hop, is counted
 * in messages: so none may be large.
 */
export function* pieces(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > MAX_PIECE_CHARACTERS) {
    const end = start + MAX_PIECE_CHARACTERS;
    const splitsPair = (text.codePointAt(end - 1) ?? 0) > 0xffff;
    const cut = splitsPair ? end - 1 : end;
    yield text.slice(start, cut);
    start = cut;
  }
  yield text.slice(start);
}
