import type { OpenAI } from "openai";
import { ProviderFailure } from "../failure.ts";
import type { EmbedCall, Embedded } from "../provider.ts";
import type { Endpoint } from "./endpoint.ts";
import { readAtMost } from "./exchange.ts";

/** Far more than 64 vectors of any model take as JSON. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Asks OpenAI's endpoint for embeddings, or another's that speaks like it. Throws ProviderFailure. */
export async function embed(endpoint: Endpoint, { model, dimensions, texts, signal }: EmbedCall): Promise<Embedded> {
  // Floats, and not base64: not every server that speaks OpenAI's language knows that.
  const request: OpenAI.EmbeddingCreateParams = {
    model,
    input: [...texts],
    encoding_format: "float",
    ...(dimensions !== undefined && { dimensions }),
  };
  const { body } = await endpoint.post(request, signal);
  const text = await readAtMost(body, MAX_BYTES + 1);
  if (Buffer.byteLength(text) > MAX_BYTES) throw new ProviderFailure("provider_error", "too_large");
  return readEmbeddings(text, texts.length);
}

/** Reads an answer's vectors, `count` of one length, in the order of their texts. Throws ProviderFailure for anything else. */
export function readEmbeddings(text: string, count: number): Embedded {
  const { data, usage } = asObject(parse(text));
  const items = (Array.isArray(data) ? data : []).map(asObject);
  const vectors = items
    .map(({ index, embedding }, place) => ({ place: typeof index === "number" ? index : place, embedding }))
    .sort((one, other) => one.place - other.place)
    .map(({ place, embedding }, expected) => (place === expected && isVector(embedding) ? embedding : []));
  const [first = []] = vectors;
  if (vectors.length !== count || first.length === 0 || vectors.some(({ length }) => length !== first.length))
    throw new ProviderFailure("provider_error", "malformed", { fault: true });
  const { prompt_tokens: tokens } = asObject(usage);
  return { vectors, tokens: Number.isSafeInteger(tokens) && Number(tokens) > 0 ? Number(tokens) : 0 };
}

/** Whether it is a direction: numbers, not all of them 0. */
function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => Number.isFinite(each)) && value.some((each) => each !== 0);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
