import type { OpenAI } from "openai";
import { ProviderFailure } from "../failure.ts";
import type { EmbedCall, Embedded } from "../provider.ts";
import { failureOfBody, failureOfRequest } from "./failure.ts";
import { readText } from "./response-body.ts";

/** Far more than the JSON of 64 vectors of any model. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Requests the embeddings of a batch of texts. Throws ProviderFailure. */
export async function embed(client: OpenAI, { model, dimensions, texts, signal }: EmbedCall): Promise<Embedded> {
  const request: OpenAI.EmbeddingCreateParams = {
    model,
    input: [...texts],
    // Not every OpenAI-compatible server supports base64.
    encoding_format: "float",
    ...(dimensions !== undefined && { dimensions }),
  };
  const response = await client.embeddings
    .create(request, { signal })
    .asResponse()
    .catch((error: unknown) => {
      throw failureOfRequest(error);
    });
  const text = await readText(response.body, MAX_BYTES + 1).catch((error: unknown) => {
    throw failureOfBody(error);
  });
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
