import { setTimeout as sleep } from "node:timers/promises";

const POLL_INTERVAL_MS = 40;
const REQUEST_TIMEOUT_MS = 2_000;

/** Polls the URL until it returns a 2xx status. Rejects when the signal aborts first. */
export async function waitUntilReady(url: string, signal: AbortSignal): Promise<void> {
  while (!(await isReady(url, signal))) await sleep(POLL_INTERVAL_MS, undefined, { signal });
}

async function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    signal.throwIfAborted();
    // The process does not listen yet, or did not respond in time.
    return false;
  }
}
