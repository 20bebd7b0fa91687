import { parentPort } from "node:worker_threads";
import type { Vocabulary } from "./vocabulary.ts";

export type CountRequest = { id: number; vocabulary: Vocabulary; texts: readonly string[] };
/** `id` is the request's. `counts` has the number of tokens of each text. */
export type CountResponse = { id: number; counts: number[] };

const VOCABULARIES = {
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
} as const;

// Counts a special token in a text, such as <|endoftext|>, as ordinary text.
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

async function respond({ id, vocabulary, texts }: CountRequest): Promise<void> {
  const { countTokens } = await VOCABULARIES[vocabulary]();
  const response: CountResponse = { id, counts: texts.map((text) => countTokens(text, PLAIN_TEXT)) };
  parentPort?.postMessage(response);
}

parentPort?.on("message", (request: CountRequest) => void respond(request));
