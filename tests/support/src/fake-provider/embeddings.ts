/** A parsed embeddings request. */
export interface EmbeddingRequest {
  model: string;
  texts: string[];
  /** Number of dimensions of each embedding; 256 by default. */
  dimensions: number;
}

const DIMENSIONS = 256;

/** The fake model embeds all words of a group alike. */
const SYNONYMS = [
  ["refund", "reimburse", "reimbursement", "moneyback", "repay", "refunded"],
  ["ship", "shipping", "shipment", "delivery", "deliver", "delivered", "dispatch", "parcel", "courier"],
  ["open", "opening", "hours", "schedule", "timetable"],
  ["dog", "dogs", "puppy", "canine", "hound", "pooch"],
];

/** A document whose passages match some questions only by synonyms. For example, "May I bring my dog?" matches the last passage. */
export const HANDBOOK = `
# Money
We reimburse an order within 30 days.
# Hours
The shop opens from nine to six on weekdays.
# Rules
Every canine must be on a lead.
`;

/** Returns undefined if the body is invalid. */
export function parseEmbeddingRequest(body: unknown): EmbeddingRequest | undefined {
  const { model, input, dimensions } = (typeof body === "object" && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  const texts: unknown[] = Array.isArray(input) ? input : [input];
  if (
    typeof model !== "string" ||
    texts.length === 0 ||
    !texts.every((text) => typeof text === "string" && text !== "")
  )
    return undefined;
  return { model, texts: texts as string[], dimensions: typeof dimensions === "number" ? dimensions : DIMENSIONS };
}

/** Returns the response body in OpenAI's format. */
export function embeddingResponse({ model, texts, dimensions }: EmbeddingRequest): unknown {
  const tokens = texts.reduce((sum, text) => sum + wordsOf(text).length, 0);
  return {
    object: "list",
    model,
    data: texts.map((text, index) => ({ object: "embedding", index, embedding: embedText(text, dimensions) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Returns a deterministic unit vector. The vectors of two texts are similar if the texts share words, three-character parts of words, or synonyms. */
export function embedText(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const add = (feature: string, weight: number) => {
    const hash = hashOf(feature);
    const index = hash % dimensions;
    // Another bit of the hash selects the sign, so that unrelated words in one dimension cancel out on average.
    vector[index] = (vector[index] ?? 0) + (hash & 0x10000 ? weight : -weight);
  };
  for (const word of wordsOf(text)) {
    const groupIndex = SYNONYMS.findIndex((group) => group.includes(word));
    if (groupIndex >= 0) {
      add(`meaning ${groupIndex}`, 1);
      continue;
    }
    // Short words are mostly stop words.
    const weight = word.length <= 3 ? 0.2 : 1;
    add(`word ${word}`, weight);
    for (let at = 0; at + 3 <= word.length; at++) add(`triple ${word.slice(at, at + 3)}`, (weight * 0.5) / word.length);
  }
  const norm = Math.hypot(...vector);
  // A text without words gets a fixed unit vector.
  if (norm === 0) return vector.map((_, index) => (index === 0 ? 1 : 0));
  return vector.map((value) => value / norm);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** FNV-1a with a final mixing step. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return (hash ^ (hash >>> 13)) >>> 0;
}
