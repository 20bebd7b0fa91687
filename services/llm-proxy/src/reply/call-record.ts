import type { Price } from "../domain/cost.ts";
import type { FailureCode } from "../domain/failure.ts";
import type { Usage } from "../providers/provider.ts";

export type Outcome = "complete" | "cancelled" | FailureCode;

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
  retries: number;
  /** Models given up for the next of the route. */
  failovers: number;
  /** Time spent waiting for a place at a provider. */
  queueMs: number;
  firstTokenAtMs: number | undefined;
  endedAtMs: number | undefined;
  text: string;
  usage: Usage | undefined;
  finished: boolean;
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
    retries: 0,
    failovers: 0,
    queueMs: 0,
    firstTokenAtMs: undefined,
    endedAtMs: undefined,
    text: "",
    usage: undefined,
    finished: false,
    outcome: undefined,
    reason: "",
  };
}
