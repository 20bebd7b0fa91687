// Sends chats at the overload rate, then at the normal rate, without waiting for earlier chats to end. Runs in its own process, so that the
// benchmark's work does not delay the chats. Prints the result as JSON.
import { randomUUID } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { OverloadOptions, OverloadResult } from "./overload-load-options.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as OverloadOptions;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
/** Part of the last event of a complete reply. */
const COMPLETE_MARKER = '"finish_reason":"stop"';
/** How many characters at the end of a response are kept. They include the last event. */
const TAIL_CHARACTERS = 500;
const REQUEST_TIMEOUT_MS = 60_000;
const SEND_INTERVAL_MS = 10;

const result: OverloadResult = {
  sent: 0,
  completed: 0,
  refused: 0,
  failed: 0,
  failures: {},
  secondsUntilRecovered: -1,
};
let nextAddressIndex = 0;

type Outcome = "completed" | "refused" | "failed";

function recordFailure(cause: string): Outcome {
  result.failures[cause] = (result.failures[cause] ?? 0) + 1;
  return "failed";
}

function chat(): Promise<Outcome> {
  const n = nextAddressIndex++;
  const address = `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`;
  return new Promise((resolve) => {
    const headers = { ...options.headers, "x-forwarded-for": address };
    const chatRequest = request(options.url, { method: "POST", agent, headers, timeout: REQUEST_TIMEOUT_MS });
    chatRequest.on("error", (error: NodeJS.ErrnoException) => resolve(recordFailure(error.code ?? error.message)));
    chatRequest.on("timeout", () => chatRequest.destroy(new Error("timeout")));
    chatRequest.on("response", (response: IncomingMessage) => {
      let tail = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        tail = (tail + text).slice(-TAIL_CHARACTERS);
      });
      response.on("error", (error: NodeJS.ErrnoException) =>
        resolve(recordFailure(`after the headers: ${error.code ?? error.message}`)),
      );
      response.on("end", () => {
        if (response.statusCode === 503 && response.headers["retry-after"] !== undefined) resolve("refused");
        else if (tail.includes(COMPLETE_MARKER)) resolve("completed");
        else resolve(recordFailure(`${response.statusCode} ${/"code":"(\w+)"/.exec(tail)?.[1] ?? "without a code"}`));
      });
    });
    chatRequest.end(options.body.replaceAll("$uuid", () => randomUUID()));
  });
}

/** Sends `rate` chats a second for `ms` milliseconds. Returns one promise per chat, which resolves when the chat has ended. */
async function sendAt(rate: number, ms: number, onEnd: (outcome: Outcome) => void) {
  const startedAt = performance.now();
  const pending: Promise<void>[] = [];
  for (let sent = 0; performance.now() - startedAt < ms; await sleep(SEND_INTERVAL_MS)) {
    const due = ((performance.now() - startedAt) / 1_000) * rate;
    for (; sent < due; sent++) pending.push(chat().then(onEnd));
  }
  return pending;
}

const overloadChats = await sendAt(options.overloadRate, options.overloadMs, (outcome) => {
  result[outcome]++;
  result.sent++;
});

// `normalRate` is below the capacity, so every chat of this load completes once the system has recovered.
const overloadEndedAt = performance.now();
let lastProblemAt = overloadEndedAt;
const normalChats = await sendAt(options.normalRate, options.normalMs, (outcome) => {
  if (outcome !== "completed") lastProblemAt = performance.now();
});
await Promise.all([...overloadChats, ...normalChats]);
result.secondsUntilRecovered = (lastProblemAt - overloadEndedAt) / 1_000;
console.log(JSON.stringify(result));
process.exit(0);
