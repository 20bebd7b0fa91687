export type JsonShape = {
  /** The nesting depth of objects and arrays. */
  levels: number;
  /** Bytes that are neither white space nor string content: brackets, quotes, commas, colons, numbers and literals. */
  structureBytes: number;
};

const SPACE = 0x20;
const QUOTE = 0x22;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Measures the structure of a JSON text without parsing it. Stops once it has counted more than `maxStructureBytes`. The result is
 * meaningless if the text is not JSON.
 */
export function shapeOf(text: Uint8Array, maxStructureBytes: number): JsonShape {
  let depth = 0;
  let levels = 0;
  let structureBytes = 0;
  for (let index = 0; index < text.length && structureBytes <= maxStructureBytes; index++) {
    const byte = text[index] as number;
    if (byte <= SPACE) continue;
    structureBytes++;
    if (byte === QUOTE) {
      index = endOfString(text, index);
      structureBytes++;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) levels = Math.max(levels, ++depth);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
  }
  return { levels, structureBytes };
}

/** Returns the index of the quote that closes the string starting at `start`, or an index beyond the text if it is not closed. */
function endOfString(text: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== QUOTE) index += text[index] === BACKSLASH ? 2 : 1;
  return index;
}
