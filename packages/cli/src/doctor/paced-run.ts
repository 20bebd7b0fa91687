import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { createParser } from "eventsource-parser";
import { type Answer, type Door, exchange, headerOf } from "./exchange.ts";

/** What the edge says of a request as it arrived there. */
export type Meta = {
  client: { address: string; counted_as: string; from: "connection" | "x-forwarded-for" };
  http_version: string;
  forwarded_headers: string[];
  server_time: string;
};

export type Tick = { sentMs: number; arrivedMs: number };

/** One stream of paced events as it arrived. Times are milliseconds since the request was made. */
export type PacedRun = {
  silenceMs: number;
  /** By this machine's clock. */
  startedAt: number;
  status: number;
  headers: Answer["headers"];
  localAddress: string;
  /** The beginning of an answer that is no stream. */
  refusal: string;
  meta: (Meta & { arrivedMs: number }) | undefined;
  ticks: Tick[];
  /** The stream's own end. */
  done: { finishReason: string; arrivedMs: number } | undefined;
  endedMs: number;
};

export type Paced = {
  publicKey: string;
  origin: string;
  silenceMs: number;
  headers?: Readonly<Record<string, string>>;
};

/** Beyond the events and the silence; a proxy that holds everything back is waited for. */
const PATIENCE_MS = 15_000;
const EVENTS_MS = 2_000;
const MAX_REFUSAL_BYTES = 4_096;

/** Streams paced events through a door. Rejects with the system's error when no answer comes at all. */
export async function runPaced(door: Door, { publicKey, origin, silenceMs, headers }: Paced): Promise<PacedRun> {
  const startedAt = Date.now();
  const start = performance.now();
  const sinceStart = () => Math.round(performance.now() - start);
  const signal = AbortSignal.timeout(EVENTS_MS + silenceMs + PATIENCE_MS);
  const answer = await exchange(door, {
    method: "POST",
    path: "/api/doctor/",
    // What browsers accept: a proxy that compresses shows itself.
    headers: { origin, "content-type": "application/json", "accept-encoding": "gzip, deflate, br", ...headers },
    body: JSON.stringify({ public_key: publicKey, silence_ms: silenceMs }),
    signal,
  });
  const { status, localAddress } = answer;
  const run: PacedRun = {
    ...{ silenceMs, startedAt, status, headers: answer.headers, localAddress },
    ...{ refusal: "", meta: undefined, ticks: [], done: undefined, endedMs: 0 },
  };
  const isStream = status === 200 && headerOf(answer, "content-type").startsWith("text/event-stream");
  try {
    if (isStream) await readEvents(decoded(answer), run, sinceStart);
    else run.refusal = await readRefusal(decoded(answer));
  } catch {
    // Cut off: that there is no `done` says so.
  }
  run.endedMs = sinceStart();
  return run;
}

async function readEvents(body: Readable, run: PacedRun, sinceStart: () => number): Promise<void> {
  const parser = createParser({
    onEvent({ event, data }) {
      const arrivedMs = sinceStart();
      const fields = JSON.parse(data) as Record<string, unknown>;
      if (event === "meta") run.meta = { ...(fields as Meta), arrivedMs };
      if (event === "tick") run.ticks.push({ sentMs: Number(fields.sent_ms), arrivedMs });
      if (event === "done") run.done = { finishReason: String(fields.finish_reason), arrivedMs };
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) parser.feed(decoder.decode(chunk as Buffer, { stream: true }));
}

async function readRefusal(body: Readable): Promise<string> {
  let text = "";
  for await (const chunk of body) {
    text += String(chunk);
    if (text.length >= MAX_REFUSAL_BYTES) break;
  }
  return text.slice(0, MAX_REFUSAL_BYTES);
}

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

/** The body without its compression, piece by piece as it comes. */
function decoded(answer: Answer): Readable {
  const encoding = headerOf(answer, "content-encoding").toLowerCase();
  if (!Object.hasOwn(DECODERS, encoding)) return answer.body;
  const decoder = DECODERS[encoding as keyof typeof DECODERS]();
  // pipe() passes on the end and not the failure.
  answer.body.once("error", (error) => decoder.destroy(error));
  answer.body.once("aborted", () => decoder.destroy(new Error("cut off")));
  return answer.body.pipe(decoder);
}
