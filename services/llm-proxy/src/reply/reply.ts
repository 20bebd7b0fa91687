import { setTimeout as sleep } from "node:timers/promises";
import type { Prompt } from "@parley/rpc/llm";
import { priceOf } from "../domain/cost.ts";
import { CallCancelled, ProviderFailure } from "../domain/failure.ts";
import { retryDelayMs } from "../domain/retry.ts";
import type { Candidate } from "../providers/catalog.ts";
import { attempt } from "./attempt.ts";
import { beginTry, type CallRecord, type NextStep } from "./call-record.ts";

export type ReplyDeps = {
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** In [0, 1). */
  random: () => number;
  /** Told of every attempt that failed, made good or not. */
  onFailure: (candidate: Candidate, failure: ProviderFailure, next: NextStep) => void;
};

/**
 * Streams a reply from the first of `candidates` that gives one. Each is asked again as its policy says, then the next is tried, but
 * only until the first text has been sent on. How it ended stands in the record; what it throws was not foreseen.
 */
export async function* reply(
  candidates: readonly Candidate[],
  prompt: Prompt,
  record: CallRecord,
  signal: AbortSignal,
  deps: ReplyDeps,
): AsyncGenerator<string> {
  const left = [...candidates];
  for (let candidate = left.shift(); candidate !== undefined; candidate = left.shift()) {
    const { name, prices, retries } = candidate.guarded.settings;
    record.provider = name;
    record.model = candidate.model;
    record.price = priceOf(prices, candidate.name);
    let step: NextStep = "retry";
    for (let attempts = 1; step === "retry"; attempts++) {
      const tried = beginTry(record, candidate.model, deps.now());
      try {
        yield* attempt(candidate, prompt, record, tried, signal, deps.now);
        record.outcome = tried.outcome = "complete";
        record.reason = "";
        return;
      } catch (error) {
        const failure = noteFailure(record, error);
        if (failure === undefined) return;
        tried.outcome = failure.code;
        tried.reason = failure.reason;
        const over = record.firstTokenAtMs !== undefined || signal.aborted;
        const delayMs = over ? undefined : retryDelayMs(failure, attempts, retries, deps.random());
        step = delayMs !== undefined ? "retry" : over || left.length === 0 ? "end" : "failover";
        tried.next = step;
        deps.onFailure(candidate, failure, step);
        if (step === "end") return;
        if (step === "failover") record.failovers++;
        if (!(await waited(delayMs ?? 0, signal))) {
          noteFailure(record, signal.reason);
          return;
        }
      }
    }
  }
}

/** Writes down what ended an attempt; undefined when the caller has left. */
function noteFailure(record: CallRecord, error: unknown): ProviderFailure | undefined {
  if (error instanceof CallCancelled) {
    record.outcome = "cancelled";
    return undefined;
  }
  if (!(error instanceof ProviderFailure)) throw error;
  record.outcome = error.code;
  record.reason = error.reason;
  return error;
}

async function waited(delayMs: number, signal: AbortSignal): Promise<boolean> {
  if (delayMs === 0) return true;
  try {
    await sleep(delayMs, undefined, { signal });
    return true;
  } catch (error) {
    if (!signal.aborted) throw error;
    return false;
  }
}
