import { parentPort } from "node:worker_threads";
import type { Vocabulary } from "./vocabulary.ts";

/** Texts to count, and the answer to it under the same id. */
export type CountRequest = { id: number; vocabulary: Vocabulary; texts: readonly string[] };
export type CountAnswer = { id: number; counts: number[] };

const VOCABULARIES = {
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
} as const;

// What looks like a control token is text like any other.
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

async function answer({ id, vocabulary, texts }: CountRequest): Promise<void> {
  const { countTokens } = await VOCABULARIES[vocabulary]();
  const reply: CountAnswer = { id, counts: texts.map((text) => countTokens(text, PLAIN_TEXT)) };
  parentPort?.postMessage(reply);
}

parentPort?.on("message", (request: CountRequest) => void answer(request));
