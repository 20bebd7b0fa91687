export type JsonShape = {
  /** The nesting depth of objects and arrays. */
  levels: number;
  /** Bytes that are neither white space nor string content: brackets, quotes, commas, colons, numbers and literals. */
  structureBytes: number;
  /** The name of the outermost object's field that exceeds a limit; undefined if none does. */
  excess?: string | undefined;
};

const SPACE = 0x20;
const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Measures the structure of a JSON text without parsing it. Stops once it has counted more structure than the limit. The result is
 * meaningless if the text is not JSON.
 */
export function shapeOf(text: Uint8Array, limits: Pick<JsonShape, "levels" | "structureBytes">): JsonShape {
  let depth = 0;
  let levels = 0;
  let structureBytes = 0;
  /** The last string of the outermost object or array, and the last name of a field of the outermost object. */
  let string: Uint8Array | undefined;
  let name: Uint8Array | undefined;
  let excess: Uint8Array | undefined;
  for (let index = 0; index < text.length && structureBytes <= limits.structureBytes; index++) {
    const byte = text[index] as number;
    if (byte <= SPACE) continue;
    structureBytes++;
    if (byte === QUOTE) {
      const end = endOfString(text, index);
      if (depth === 1) string = text.subarray(index, end + 1);
      index = end;
      structureBytes++;
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) levels = Math.max(levels, ++depth);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--;
    else if (byte === COLON && depth === 1) name = string;
    if (levels > limits.levels || structureBytes > limits.structureBytes) excess ??= name;
  }
  return { levels, structureBytes, excess: excess && readString(excess) };
}

/** Parses a JSON string. Returns undefined if it is malformed. */
function readString(json: Uint8Array): string | undefined {
  try {
    return String(JSON.parse(Buffer.from(json).toString()));
  } catch {
    return undefined;
  }
}

/** Returns the index of the quote that closes the string starting at `start`, or an index beyond the text if it is not closed. */
function endOfString(text: Uint8Array, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== QUOTE) index += text[index] === BACKSLASH ? 2 : 1;
  return index;
}
