import type { Verdict } from "@parley/bot-rules/moderation";
import type { FailureCode, Usage } from "../providers/index.ts";
import type { Price } from "../settings/index.ts";
import type { ToolRequest, ToolRound } from "../tools/index.ts";

/** What was used of a model; `cost` is null when it has no price. */
export type Metering = { tokensIn: number; tokensOut: number; estimated: boolean; cost: number | null };

export type Outcome = "complete" | "cancelled" | "blocked" | FailureCode;

/** What was done after a try: nothing more when it is empty. */
export type NextStep = "retry" | "failover" | "end";

/** One try to get an answer from a model: a request to its provider, or what kept one from being sent. */
export type Try = {
  /** `<provider>:<model_name>` */
  model: string;
  /** When it began, in ms after the call did. */
  startedMs: number;
  /** Time spent waiting for a place at the provider. */
  queueMs: number;
  /** Whether a request was sent; not when the queue was full or the breaker open. */
  sent: boolean;
  /** From its beginning to its first text; undefined when none came. */
  firstTokenMs: number | undefined;
  /** From its beginning to its end. */
  latencyMs: number;
  outcome: Outcome;
  /** Why it did not complete; empty when it did. */
  reason: string;
  next: NextStep | "";
};

/** What happens to one call of Generate, written down as it happens. Times are milliseconds of a clock that never goes back. */
export type CallRecord = {
  workspaceId: string;
  turnId: string;
  /** What was asked for; empty for the default. */
  asked: string;
  startedAtMs: number;
  /** The provider and model that answer, or were tried last; empty before any was. */
  provider: string;
  model: string;
  price: Price | undefined;
  /** Calls made to providers. */
  attempts: number;
  /** Models given up for the next of the route. */
  failovers: number;
  /** Time spent waiting for a place at a provider. */
  queueMs: number;
  /** Every try, in order. */
  tries: Try[];
  firstTokenAtMs: number | undefined;
  endedAtMs: number | undefined;
  /** Of the question under way or last answered; the next one begins anew. */
  text: string;
  usage: Usage | undefined;
  finished: boolean;
  /** The tools that it ended in calling. */
  requests: readonly ToolRequest[];
  /** What the model called before, and what came of it. */
  rounds: ToolRound[];
  /** What was used before the question under way. */
  used: Promise<Metering>[];
  /** Times that a model was asked, retries apart. */
  questions: number;
  toolCalls: number;
  /** Time spent waiting for tools. */
  toolsMs: number;
  /** Set when a pattern matched the reply. */
  blocked: Verdict | undefined;
  /** Why the model finished, in the provider's word; empty while it has not. */
  finishReason: string;
  outcome: Outcome | undefined;
  /** Why it did not complete, in a few words of our own; empty when it did. */
  reason: string;
};

/** A record of a call of which nothing has happened yet. */
export function beginCall(call: Pick<CallRecord, "workspaceId" | "turnId" | "asked" | "startedAtMs">): CallRecord {
  return {
    ...call,
    provider: "",
    model: "",
    price: undefined,
    attempts: 0,
    failovers: 0,
    queueMs: 0,
    tries: [],
    firstTokenAtMs: undefined,
    endedAtMs: undefined,
    text: "",
    usage: undefined,
    finished: false,
    requests: [],
    rounds: [],
    used: [],
    questions: 0,
    toolCalls: 0,
    toolsMs: 0,
    blocked: undefined,
    finishReason: "",
    outcome: undefined,
    reason: "",
  };
}

/** A try of which nothing has happened yet, added to the record. */
export function beginTry(record: Pick<CallRecord, "tries" | "startedAtMs">, model: string, nowMs: number): Try {
  const tried: Try = {
    model,
    startedMs: nowMs - record.startedAtMs,
    queueMs: 0,
    sent: false,
    firstTokenMs: undefined,
    latencyMs: 0,
    // Whatever ends it otherwise says so.
    outcome: "cancelled",
    reason: "",
    next: "",
  };
  record.tries.push(tried);
  return tried;
}
