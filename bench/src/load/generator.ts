// The load generator. It runs in a process of its own, so that its CPU time is not measured with the subject's. After the warm-up it
// prints "warm" and waits for a line on its standard input. Then it runs the load and prints the result as JSON.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "../support/statistics.ts";
import type { LoadPlan, LoadResult } from "./plan.ts";

const plan = JSON.parse(process.argv[2] ?? "{}") as LoadPlan;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const TOKEN = Buffer.from("event: token");
const DONE = Buffer.from("event: done");

const firstTokens: number[] = [];
const gaps: number[] = [];
let failed = 0;
let tokens = 0;
let addresses = 0;

function nextAddress(): string {
  const n = addresses++;
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

function countOccurrences(chunk: Buffer, needle: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(needle); at !== -1; at = chunk.indexOf(needle, at + needle.length)) count++;
  return count;
}

async function runTurn(isMeasured: boolean): Promise<void> {
  const started = performance.now();
  const headers = { ...plan.headers, ...(plan.spreadAddresses ? { "x-forwarded-for": nextAddress() } : {}) };
  const call = request(plan.url, { method: "POST", agent, headers });
  call.end(plan.body.replaceAll("$uuid", () => randomUUID()));
  const [response] = (await once(call, "response")) as [IncomingMessage];
  let lastTokenAt = 0;
  let received = 0;
  let isDone = false;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const now = performance.now();
    const count = countOccurrences(chunk, TOKEN);
    if (count > 0) {
      if (isMeasured && received === 0) firstTokens.push(now - started);
      if (isMeasured && received > 0) gaps.push(now - lastTokenAt);
      lastTokenAt = now;
      received += count;
    }
    isDone ||= chunk.includes(DONE);
  }
  if (!isMeasured) return;
  tokens += received;
  if (!isDone || received === 0) failed++;
}

async function runTurns(turns: number, isMeasured: boolean): Promise<void> {
  let remaining = turns;
  const pauseMs = (plan.rampMs ?? 0) / plan.callers;
  const caller = async (_: unknown, n: number) => {
    if (pauseMs > 0) await sleep(n * pauseMs);
    while (remaining-- > 0) await runTurn(isMeasured);
  };
  await Promise.all(Array.from({ length: plan.callers }, caller));
}

await runTurns(plan.warmUp, false);
console.log("warm");
await once(process.stdin, "data");
const started = performance.now();
await runTurns(plan.turns, true);
const result: LoadResult = {
  turns: plan.turns,
  failed,
  tokens,
  elapsedMs: performance.now() - started,
  firstTokenMs: { p50: percentile(firstTokens, 50), p99: percentile(firstTokens, 99) },
  gapMs: { p50: percentile(gaps, 50), p99: percentile(gaps, 99) },
};
console.log(JSON.stringify(result));
process.exit(0);
