// Load generator for chats. Runs in its own process, so that its CPU time is not part of the measurement. After the warm-up turns, prints
// "warm" and waits for a line on its standard input. Then runs the measured turns and prints the result as JSON.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { percentile } from "../support/statistics.ts";
import type { LoadOptions, LoadResult } from "./chat-load-options.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as LoadOptions;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const TOKEN = Buffer.from("event: token");
const DONE = Buffer.from("event: done");

const firstTokenMs: number[] = [];
const tokenGapMs: number[] = [];
let failed = 0;
let tokens = 0;
let nextAddressIndex = 0;

function nextAddress(): string {
  const n = nextAddressIndex++;
  return `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
}

const insertUuid = (text: string) => text.replaceAll("$uuid", () => randomUUID());

function countOccurrences(bytes: Buffer, needle: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) count++;
  return count;
}

async function runTurn(isMeasured: boolean): Promise<void> {
  const started = performance.now();
  const headers = {
    ...Object.fromEntries(Object.entries(options.headers).map(([name, value]) => [name, insertUuid(value)])),
    ...(options.usesNewClientAddressPerRequest ? { "x-forwarded-for": nextAddress() } : {}),
  };
  const chatRequest = request(options.url, { method: "POST", agent, headers });
  chatRequest.end(insertUuid(options.body));
  const [response] = (await once(chatRequest, "response")) as [IncomingMessage];
  let lastTokenAt = 0;
  let tokenCount = 0;
  let isDone = false;
  /** The last received bytes, fewer than TOKEN has. With them, a TOKEN split across chunks is found, and no TOKEN is counted twice. */
  let tail: Uint8Array = Buffer.alloc(0);
  for await (const chunk of response as AsyncIterable<Buffer>) {
    const now = performance.now();
    const bytes = Buffer.concat([tail, chunk]);
    tail = bytes.subarray(Math.max(0, bytes.length - TOKEN.length + 1));
    const count = countOccurrences(bytes, TOKEN);
    if (count > 0) {
      if (isMeasured && tokenCount === 0) firstTokenMs.push(now - started);
      if (isMeasured && tokenCount > 0) tokenGapMs.push(now - lastTokenAt);
      lastTokenAt = now;
      tokenCount += count;
    }
    isDone ||= bytes.includes(DONE);
  }
  if (!isMeasured) return;
  tokens += tokenCount;
  if (!isDone || tokenCount === 0) failed++;
}

async function runTurns(turns: number, isMeasured: boolean): Promise<void> {
  let remaining = turns;
  const startIntervalMs = (options.rampMs ?? 0) / options.callers;
  const runCaller = async (_: unknown, n: number) => {
    if (startIntervalMs > 0) await sleep(n * startIntervalMs);
    while (remaining-- > 0) await runTurn(isMeasured);
  };
  await Promise.all(Array.from({ length: options.callers }, runCaller));
}

await runTurns(options.warmUpTurns, false);
console.log("warm");
await once(process.stdin, "data");
const started = performance.now();
await runTurns(options.turns, true);
const result: LoadResult = {
  turns: options.turns,
  failed,
  tokens,
  elapsedMs: performance.now() - started,
  firstTokenMs: { p50: percentile(firstTokenMs, 50), p99: percentile(firstTokenMs, 99) },
  tokenGapMs: { p50: percentile(tokenGapMs, 50), p99: percentile(tokenGapMs, 99) },
};
console.log(JSON.stringify(result));
process.exit(0);
