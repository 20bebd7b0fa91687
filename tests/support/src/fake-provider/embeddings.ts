/** What the provider makes of a request for embeddings. */
export interface EmbeddingRequest {
  model: string;
  texts: string[];
  /** The length asked for; 256 unless it is said. */
  dimensions: number;
}

const DIMENSIONS = 256;

/** Words for the same thing, as a model of language would know them; to the scripted model each group is one word. */
const MEANINGS = [
  ["refund", "reimburse", "reimbursement", "moneyback", "repay", "refunded"],
  ["ship", "shipping", "shipment", "delivery", "deliver", "delivered", "dispatch", "parcel", "courier"],
  ["open", "opening", "hours", "schedule", "timetable"],
  ["dog", "dogs", "puppy", "canine", "hound", "pooch"],
];

/** A document whose passages some of those words find by their meaning alone: "May I bring my dog?" finds the last. */
export const HANDBOOK = `
# Money
We reimburse an order within 30 days.
# Hours
The shop opens from nine to six on weekdays.
# Pets
Every canine must be on a lead.
`;

/** Reads the request's body; undefined when it is none. */
export function readEmbeddingRequest(body: unknown): EmbeddingRequest | undefined {
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

/** The answer in OpenAI's form. */
export function embeddingDocument({ model, texts, dimensions }: EmbeddingRequest): unknown {
  const tokens = texts.reduce((sum, text) => sum + wordsOf(text).length, 0);
  return {
    object: "list",
    model,
    data: texts.map((text, index) => ({ object: "embedding", index, embedding: embedText(text, dimensions) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/**
 * A text as a vector of length 1, always the same: each of its words, and more weakly each of their letter triples, points into a direction drawn
 * from its hash. Texts are near each other as far as they share words, beginnings and endings, or words of one meaning.
 */
export function embedText(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  const add = (feature: string, weight: number) => {
    const hash = hashOf(feature);
    const place = hash % dimensions;
    vector[place] = (vector[place] ?? 0) + (hash & 0x10000 ? weight : -weight);
  };
  for (const word of wordsOf(text)) {
    const meaning = MEANINGS.findIndex((group) => group.includes(word));
    if (meaning >= 0) {
      add(`meaning ${meaning}`, 1);
      continue;
    }
    // Small words say little.
    const weight = word.length <= 3 ? 0.2 : 1;
    add(`word ${word}`, weight);
    for (let at = 0; at + 3 <= word.length; at++) add(`triple ${word.slice(at, at + 3)}`, (weight * 0.5) / word.length);
  }
  const length = Math.hypot(...vector);
  if (length === 0) return vector.map((_, place) => (place === 0 ? 1 : 0));
  return vector.map((value) => value / length);
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** FNV-1a, its bits stirred once more. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return (hash ^ (hash >>> 13)) >>> 0;
}
