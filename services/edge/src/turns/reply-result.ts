import type { GenerateCitation, ToolCall } from "@parley/rpc/llm";
import type { FailureCode, FinishDetail, Outcome } from "@parley/rpc/outcomes";
import { type QuotaUsage, toShownSource } from "./ending.ts";
import type { BlockedEvent, ShownSource } from "./events.ts";

/** How a reply ended in this process. The stored end (TurnEnding) may differ. */
export type ReplyResult = Readonly<{
  outcome: Outcome;
  content: string;
  model: string;
  tokensIn: number;
  tokensOut: number;
  firstTokenMs: number;
  errorCode: FailureCode | "";
  /** The UTC month of the quota's hold, "YYYY-MM"; empty if nothing is held. */
  month: string;
  finishDetail: FinishDetail;
  /** The UTC day of the quota's hold, "YYYY-MM-DD"; empty if nothing is held. */
  day: string;
  /** Whether the provider has sent text or thoughts, or called tools. */
  hasOutput: boolean;
  /** Whether the visitor may have caused the failure after the provider's output: see isUnpaid. */
  isVisitorFailure: boolean;
  toolsCalled: Pick<ToolCall, "name" | "arguments" | "status" | "latencyMs">[];
  /** The citations in the text. */
  citations: readonly GenerateCitation[];
  quota?: QuotaUsage;
  blocked?: BlockedEvent;
  /** For the log. */
  cause?: unknown;
}>;

const INTERNAL_ERROR: ReplyResult = {
  outcome: "error",
  content: "",
  model: "",
  tokensIn: 0,
  tokensOut: 0,
  firstTokenMs: 0,
  errorCode: "internal_error",
  month: "",
  finishDetail: "",
  day: "",
  hasOutput: false,
  isVisitorFailure: false,
  toolsCalled: [],
  citations: [],
};

/** Returns a result with `fields`. All other fields are those of a reply that failed with an internal error before its first text. */
export function createReplyResult(fields: Partial<ReplyResult>): ReplyResult {
  return { ...INTERNAL_ERROR, ...fields };
}

/** Returns the sources of the citations that visitors see, in the order of their numbers. */
export function listSources(citations: readonly GenerateCitation[]): ShownSource[] {
  const sources = new Map<number, ShownSource>();
  for (const { number, shown } of citations)
    if (shown !== undefined && !sources.has(number)) sources.set(number, toShownSource({ number, ...shown }));
  return [...sources.values()];
}

/**
 * Whether the reply cost provider output but does not count as a message: it was cancelled or blocked after output, or it failed in a way
 * that a visitor can cause. Failures of the provider are not unpaid.
 */
export function isUnpaid({ outcome, hasOutput, isVisitorFailure }: ReplyResult): boolean {
  if (outcome === "cancelled" || outcome === "blocked") return hasOutput;
  return outcome === "error" && isVisitorFailure;
}
