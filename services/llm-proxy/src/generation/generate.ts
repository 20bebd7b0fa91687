import { setTimeout as sleep } from "node:timers/promises";
import type { Prompt } from "@parley/rpc/llm";
import { CallCancelled, type Candidate, ProviderFailure, retryDelayMs, type Take } from "../providers/index.ts";
import { priceOf } from "../settings/index.ts";
import type { Toolbox, ToolResult, ToolUse } from "../tools/index.ts";
import { attempt } from "./attempt.ts";
import { beginTry, type CallRecord, type NextStep } from "./call-record.ts";
import { type CountTokens, meterQuestion } from "./meter.ts";
import type { Question } from "./question.ts";

export type ReplyDeps = {
  countTokens: CountTokens;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** In [0, 1). */
  random: () => number;
  /** Resolves when `take` has dealt with all text so far; it may have ended the reply by then. */
  settled: () => Promise<void>;
  /** Told of every attempt that failed, made good or not. */
  onFailure: (candidate: Candidate, failure: ProviderFailure, next: NextStep) => void;
};

/** What a reply is made of: text, and the tools that were called on the way. */
export type ReplyEvent = string | ToolUse;

/**
 * Tells `take` a reply from the first of `candidates` that gives one. Each is asked again as its policy says, then the next is tried, but
 * only until the first text has been sent on. A model that calls tools is asked again with what came of it, until it answers. How it
 * ended stands in the record; what it throws was not foreseen.
 */
export async function reply(
  candidates: readonly Candidate[],
  question: Question,
  record: CallRecord,
  signal: AbortSignal,
  deps: ReplyDeps,
  take: Take<ReplyEvent>,
): Promise<void> {
  const left = [...candidates];
  const { toolbox } = question;
  for (;;) {
    await ask(left, question, record, signal, deps, take);
    // A model that calls tools it was never told of has nothing else to say.
    if (record.outcome !== "complete" || record.requests.length === 0 || toolbox === undefined) return;
    await deps.settled();
    if (signal.aborted) {
      noteFailure(record, signal.reason);
      return;
    }
    if (!toolbox.mayCall(record.rounds.length)) {
      record.outcome = "provider_error";
      record.reason = "tool_calls";
      return;
    }
    try {
      for (const { use } of await callTools(question.prompt, toolbox, record, signal, deps)) await take(use);
    } catch (error) {
      noteFailure(record, error);
      return;
    }
  }
}

/** Makes all the calls that the model asked for, at once; adds them to the record, and what asking for them took. */
async function callTools(
  prompt: Prompt,
  toolbox: Toolbox,
  record: CallRecord,
  signal: AbortSignal,
  { now, countTokens }: Pick<ReplyDeps, "now" | "countTokens">,
): Promise<ToolResult[]> {
  const { requests, text } = record;
  // Counted while the tools are called.
  record.used.push(meterQuestion(record, prompt, countTokens));
  // What was used is noted: whatever ends the reply now adds nothing to it.
  Object.assign(record, { outcome: undefined, usage: undefined, finished: false, text: "", requests: [] });
  record.toolCalls += requests.length;
  const beganAtMs = now();
  try {
    const calls = await Promise.all(requests.map((request) => toolbox.call(request, signal)));
    record.rounds.push({ text, calls });
    return calls;
  } finally {
    record.toolsMs += now() - beganAtMs;
  }
}

/** Asks the first of the models left, again and in turn, until one has answered; those given up are taken off the list. */
async function ask(
  left: Candidate[],
  question: Question,
  record: CallRecord,
  signal: AbortSignal,
  deps: ReplyDeps,
  take: Take<string>,
): Promise<void> {
  record.questions++;
  for (let candidate = left[0]; candidate !== undefined; candidate = left[0]) {
    const { name, prices, retries } = candidate.guarded.settings;
    record.provider = name;
    record.model = candidate.model;
    record.price = priceOf(prices, candidate.name);
    let step: NextStep = "retry";
    for (let attempts = 1; step === "retry"; attempts++) {
      const tried = beginTry(record, candidate.model, deps.now());
      try {
        await attempt(candidate, question, record, tried, signal, deps.now, take);
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
        step = delayMs !== undefined ? "retry" : over || left.length === 1 ? "end" : "failover";
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
    left.shift();
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
