// Runs in a pod of the cluster. Each visitor sends one message after the other, on kept-alive connections, until a line arrives on stdin.
// Then the program waits for the open streams and prints a LoadReport. Variables: URL, ORIGIN, PUBLIC_KEY, VISITORS, EXPECTED_REPLY.
import { randomInt, randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { collectSse } from "@parley/test-support";

export type LoadReport = {
  /** Streams that were requested. */
  total: number;
  /** Streams with the whole reply. */
  complete: number;
  /** Number of failed streams, by cause. */
  failures: Record<string, number>;
  /** Time of the last failure in ms since 1970, or 0 if no stream failed. */
  lastFailureAt: number;
  /** Streams with the whole reply that ended after the last failure. */
  completeSinceFailure: number;
};

/** A stream lasts 3 s; a retry or a failover takes a few seconds more. */
const STREAM_TIMEOUT_MS = 60_000;
/** During an outage Parley refuses immediately, so a visitor without this pause would send thousands of requests. */
const PAUSE_AFTER_FAILURE_MS = 500;

const { URL: url = "", ORIGIN = "", PUBLIC_KEY = "", VISITORS = "", EXPECTED_REPLY = "" } = process.env;

const report: LoadReport = { total: 0, complete: 0, failures: {}, lastFailureAt: 0, completeSinceFailure: 0 };
const stopping = new AbortController();

/** Sends one message. Returns undefined if the whole reply arrives, otherwise the cause of the failure. */
async function sendMessage(address: string): Promise<string | undefined> {
  const response = await fetch(`${url}/api/chat/`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      origin: ORIGIN,
      "x-forwarded-for": address,
    },
    body: JSON.stringify({ public_key: PUBLIC_KEY, session_id: randomUUID(), message: "Hello?" }),
    signal: AbortSignal.timeout(STREAM_TIMEOUT_MS),
  });
  if (response.status !== 200) return `status ${response.status}: ${(await response.text()).slice(0, 200)}`;
  const events = (await collectSse(response)) as { event: string; data: Record<string, unknown> }[];
  const texts = events.flatMap(({ event, data }) => (event === "token" ? [data.text] : []));
  const finishReason = events.find(({ event }) => event === "done")?.data.finish_reason;
  if (finishReason === "stop" && texts.join("") === EXPECTED_REPLY) return undefined;
  return `finish_reason ${finishReason}, ${texts.length} tokens: ${JSON.stringify(events.find(({ event }) => event === "error")?.data)}`;
}

/**
 * Sends messages until `stopping` is aborted. Each visitor has its own forwarded address, so that no visitor reaches the rate limit of an
 * address.
 */
async function visit(): Promise<void> {
  const address = `203.0.${randomInt(256)}.${randomInt(256)}`;
  while (!stopping.signal.aborted) {
    report.total++;
    const failure = await sendMessage(address).catch(
      (error: Error) => `${error.message}: ${(error.cause as Error | undefined)?.message}`,
    );
    if (failure === undefined) {
      report.complete++;
      report.completeSinceFailure++;
    } else {
      report.lastFailureAt = Date.now();
      report.completeSinceFailure = 0;
      console.error(`${new Date().toISOString()} ${failure}`);
      report.failures[failure] = (report.failures[failure] ?? 0) + 1;
      await sleep(PAUSE_AFTER_FAILURE_MS);
    }
  }
}

const visitors = Array.from({ length: Number(VISITORS) }, visit);
await once(process.stdin, "data");
stopping.abort();
await Promise.all(visitors);
console.log(JSON.stringify(report));
process.exit();
