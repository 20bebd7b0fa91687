import type { OpenAI } from "openai";
import { failureFromBodyError, failureFromReason, ProviderFailure } from "../failure.ts";
import { asStreamedResponse, readText } from "../http/response-body.ts";
import type { EmbeddingRequest, Embeddings } from "../provider.ts";
import { failureFromRequestError } from "./failure.ts";

/** Far larger than any valid response: an Embed call has at most 64 texts (embed.rpc.ts). */
const MAX_BYTES = 16 * 1024 * 1024;

/** Returns the headers that authorise a request, in addition to the client's. Throws ProviderFailure, or the signal's reason if it is aborted. */
export type Authorize = (signal: AbortSignal) => Promise<Record<string, string>>;

/** Requests the embeddings of a batch of texts. Throws ProviderFailure. */
export async function embed(client: OpenAI, authorize: Authorize, request: EmbeddingRequest): Promise<Embeddings> {
  const { model, dimensions, texts, signal } = request;
  const params: OpenAI.EmbeddingCreateParams = {
    model,
    input: [...texts],
    // Not every OpenAI-compatible server supports base64.
    encoding_format: "float",
    ...(dimensions !== undefined && { dimensions }),
  };
  const headers = await authorize(signal);
  const response = await client.embeddings
    .create(params, { signal, headers })
    .asResponse()
    .catch((error: unknown) => {
      throw failureFromRequestError(error);
    });
  const text = await readText(asStreamedResponse(response).stream, MAX_BYTES + 1).catch((error: unknown) => {
    throw failureFromBodyError(error);
  });
  if (Buffer.byteLength(text) > MAX_BYTES) throw new ProviderFailure("provider_error", "too_large");
  return readEmbeddings(text, texts.length);
}

/** Reads `count` vectors of one length, in the order of their texts. Throws ProviderFailure if the response is malformed. */
export function readEmbeddings(text: string, count: number): Embeddings {
  const { data, usage } = asObject(parseJson(text));
  const items = (Array.isArray(data) ? data : []).map(asObject);
  const vectors = items
    .map(({ index, embedding }, position) => ({ index: typeof index === "number" ? index : position, embedding }))
    .sort((one, other) => one.index - other.index)
    .map(({ index, embedding }, expected) => (index === expected && isVector(embedding) ? embedding : []));
  const [first = []] = vectors;
  if (vectors.length !== count || first.length === 0 || vectors.some(({ length }) => length !== first.length))
    throw failureFromReason("malformed");
  const { prompt_tokens: tokens } = asObject(usage);
  return { vectors, tokens: Number.isSafeInteger(tokens) && Number(tokens) > 0 ? Number(tokens) : 0 };
}

/** Returns whether a value is a list of finite numbers, not all 0: a vector of zeros has no direction to compare. */
function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => Number.isFinite(each)) && value.some((each) => each !== 0);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
