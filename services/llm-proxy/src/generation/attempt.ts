import { type BreakerVerdict, type Candidate, ProviderFailure, type Take, Watchdog } from "../providers/index.ts";
import type { Timeouts } from "../settings/index.ts";
import type { CallRecord, Try } from "./call-record.ts";
import { endProviderSpan, openProviderSpan } from "./provider-span.ts";
import type { Question } from "./question.ts";

/** Far beyond any answer: a provider that does not stop must not fill our memory, nor a visitor's. */
const MAX_REPLY_CHARACTERS = 4 * 1024 * 1024;

/**
 * Asks one model once, behind its provider's breaker, cap and timers, and tells `onText` its text. Throws ProviderFailure, or the
 * signal's reason. How it went is added to the record; how it ended is for the caller to write down.
 */
export async function attempt(
  candidate: Candidate,
  { prompt, toolbox }: Question,
  record: CallRecord,
  tried: Try,
  signal: AbortSignal,
  now: () => number,
  onText: Take<string>,
): Promise<void> {
  const { guarded, name } = candidate;
  const { settings, provider, breaker, concurrency } = guarded;
  const beganAtMs = now();
  const release = await concurrency.acquire(record.workspaceId, signal).finally(() => {
    tried.queueMs = tried.latencyMs = now() - beganAtMs;
    record.queueMs += tried.queueMs;
  });
  const settle = breaker.admit();
  if (settle === undefined) {
    release();
    throw new ProviderFailure("provider_error", "breaker_open");
  }
  record.attempts++;
  tried.sent = true;
  record.usage = undefined;
  record.finished = false;
  record.text = "";
  record.requests = [];
  record.finishReason = "";
  const span = openProviderSpan(candidate, record);
  let failure = "cancelled";
  const watchdog = new Watchdog(timeoutsLeft(settings.timeouts, record, beganAtMs), signal);
  let verdict: BreakerVerdict = "neutral";
  try {
    await provider.stream({
      model: name,
      prompt,
      tools: toolbox?.functions ?? [],
      mustAnswer: toolbox?.mayCall(record.rounds.length) !== true,
      rounds: record.rounds,
      signal: watchdog.signal,
      onText: (text) => {
        if (watchdog.signal.aborted) return undefined;
        if (tried.firstTokenMs === undefined) tried.firstTokenMs = now() - beganAtMs;
        record.firstTokenAtMs ??= now();
        record.text += text;
        if (record.text.length > MAX_REPLY_CHARACTERS) throw new ProviderFailure("provider_error", "too_large");
        const taken = onText(text);
        if (taken === undefined) watchdog.resume();
        else watchdog.pause();
        return taken?.then(() => watchdog.resume());
      },
      onProgress: () => watchdog.resume(),
      onFinished: (requests, reason) => {
        record.finishReason = reason;
        if (!record.finished) watchdog.finish();
        record.finished = true;
        record.requests = requests;
      },
      onUsage: (usage) => {
        record.usage = usage;
      },
    });
    if (!record.finished) throw new ProviderFailure("provider_error", "truncated", { fault: true });
    verdict = "ok";
  } catch (error) {
    signal.throwIfAborted();
    const cause: unknown = watchdog.signal.aborted ? watchdog.signal.reason : error;
    // A provider that got as far as text is there, whatever became of the rest.
    const isDown = record.firstTokenAtMs === undefined && cause instanceof ProviderFailure && cause.fault;
    verdict = isDown && !record.finished ? "fault" : "ok";
    // A finished reply is whole, whatever befalls its count of tokens or the end of its connection.
    failure = reasonOf(cause);
    if (!record.finished) throw cause;
  } finally {
    tried.latencyMs = now() - beganAtMs;
    watchdog.stop();
    settle(verdict);
    release();
    endProviderSpan(span, record, record.finished ? undefined : failure);
  }
}

/** A reply has one total time, however often its model calls tools in between. */
function timeoutsLeft(timeouts: Timeouts, { rounds, startedAtMs }: CallRecord, nowMs: number): Timeouts {
  if (rounds.length === 0) return timeouts;
  return { ...timeouts, totalMs: Math.max(1, timeouts.totalMs - (nowMs - startedAtMs)) };
}

function reasonOf(cause: unknown): string {
  return cause instanceof ProviderFailure ? cause.reason : "internal";
}
