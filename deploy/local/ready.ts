import { setTimeout as sleep } from "node:timers/promises";

const ASK_EVERY_MS = 40;
const ANSWER_TIMEOUT_MS = 2_000;

/** Resolves once the URL answers 200; rejects with the signal's reason when that is aborted first. */
export async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  while (!(await isReady(url, signal))) await sleep(ASK_EVERY_MS, undefined, { signal });
}

async function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    signal.throwIfAborted();
    // Nobody listens yet.
    return false;
  }
}
