import type { Prompt } from "@parley/rpc/llm";
import { estimateTokens } from "../domain/estimate-tokens.ts";
import { renderPrompt } from "../domain/render-prompt.ts";
import type { CallRecord } from "./call-record.ts";

export type Metering = { tokensIn: number; tokensOut: number; estimated: boolean };

/** The tokens of a reply: the provider's own count, else an estimate if anything was answered, else none. */
export function meter(record: Pick<CallRecord, "usage" | "finished" | "text">, prompt: Prompt): Metering {
  if (record.usage) return { ...record.usage, estimated: false };
  if (!record.finished && record.text === "") return { tokensIn: 0, tokensOut: 0, estimated: false };
  const asked = renderPrompt(prompt).map((message) => message.content);
  return { tokensIn: estimateTokens(asked.join("\n")), tokensOut: estimateTokens(record.text), estimated: true };
}
