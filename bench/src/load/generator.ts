// A process of its own, so that what it costs does not blur what is measured. It prints "warm" once its warm-up is over and waits for a
// line on its standard input before it starts, then its result.
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
let sent = 0;

function address(): string {
  const n = sent++;
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

function occurrences(chunk: Buffer, needle: Buffer): number {
  let count = 0;
  for (let at = chunk.indexOf(needle); at !== -1; at = chunk.indexOf(needle, at + needle.length)) count++;
  return count;
}

async function turn(counted: boolean): Promise<void> {
  const started = performance.now();
  const headers = { ...plan.headers, ...(plan.spreadAddresses ? { "x-forwarded-for": address() } : {}) };
  const call = request(plan.url, { method: "POST", agent, headers });
  call.end(plan.body.replaceAll("$uuid", () => randomUUID()));
  const [response] = (await once(call, "response")) as [IncomingMessage];
  let last = 0;
  let seen = 0;
  let ended = false;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const now = performance.now();
    const count = occurrences(chunk, TOKEN);
    if (count > 0) {
      if (counted && seen === 0) firstTokens.push(now - started);
      if (counted && seen > 0) gaps.push(now - last);
      last = now;
      seen += count;
    }
    ended ||= chunk.includes(DONE);
  }
  if (!counted) return;
  tokens += seen;
  if (!ended || seen === 0) failed++;
}

async function run(turns: number, counted: boolean): Promise<void> {
  let left = turns;
  const pauseMs = (plan.rampMs ?? 0) / plan.callers;
  const caller = async (_: unknown, n: number) => {
    if (pauseMs > 0) await sleep(n * pauseMs);
    while (left-- > 0) await turn(counted);
  };
  await Promise.all(Array.from({ length: plan.callers }, caller));
}

await run(plan.warmUp, false);
console.log("warm");
await once(process.stdin, "data");
const started = performance.now();
await run(plan.turns, true);
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
