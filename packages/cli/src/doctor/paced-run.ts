import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { createParser } from "eventsource-parser";
import { type Endpoint, type EndpointResponse, readHeader, sendRequest } from "./http-request.ts";

/** The `meta` event: how the request arrived at the edge. `counted_as` is the address or IPv6 /64 network that the rate limit counts. */
export type Meta = {
  client: { address: string; counted_as: string; from: "connection" | "x-forwarded-for" };
  http_version: string;
  forwarded_headers: string[];
  server_time: string;
  /** Only if the request had a visitor token: `accepted`, or why the edge refuses it. */
  visitor_token?: string;
};

/** A `tick` event. `sentMs` is the time since the edge started the stream, `arrivedMs` the time since this machine sent the request. */
export type Tick = { sentMs: number; arrivedMs: number };

/**
 * The response to one request for paced events: a stream of events that the edge sends at a fixed pace, or a refusal. `arrivedMs` and
 * `endedMs` are times since the request.
 */
export type PacedRun = {
  /** How long the edge sends nothing between the last `tick` and `done`. */
  silenceMs: number;
  /** Unix time in milliseconds by this machine's clock. */
  startedAtMs: number;
  status: number;
  headers: EndpointResponse["headers"];
  localAddress: string;
  isStream: boolean;
  /** The start of the body if `isStream` is false; otherwise empty. */
  bodyStart: string;
  meta: (Meta & { arrivedMs: number }) | undefined;
  ticks: Tick[];
  /** The number of the first event whose data is not JSON, counted from 1. The events after it are not read. */
  damagedEvent: number | undefined;
  /** Undefined for a refusal, and if the stream was cut off or an event is damaged. */
  done: { finishReason: string; arrivedMs: number } | undefined;
  endedMs: number;
};

/** A request without a response. `errorCode` is TIMEOUT, a system error's code such as ECONNREFUSED, or UNKNOWN. */
export type UnansweredRun = { errorCode: string };

export type PacedRequest = {
  publicKey: string;
  origin: string;
  silenceMs: number;
  headers?: Readonly<Record<string, string>>;
  /** A token to check. It is secret, so the request needs a valid certificate. */
  visitorToken?: string;
};

/** The number of `tick` events that the edge sends. */
export const TICKS = 20;
/** How long the edge takes to send all `tick` events. */
const EVENTS_MS = 2_000;
/** Extra time for a proxy that buffers the whole stream. */
const BUFFERING_GRACE_MS = 15_000;
const MAX_REFUSAL_CHARACTERS = 4_096;

/** Requests paced events. Rejects with the system error or the timeout when there is no response. */
export async function runPaced(
  endpoint: Endpoint,
  { publicKey, origin, silenceMs, headers, visitorToken }: PacedRequest,
): Promise<PacedRun> {
  const startedAtMs = Date.now();
  const start = performance.now();
  const sinceStart = () => Math.round(performance.now() - start);
  const signal = AbortSignal.timeout(EVENTS_MS + silenceMs + BUFFERING_GRACE_MS);
  const response = await sendRequest(endpoint, {
    method: "POST",
    path: "/api/doctor/",
    // The encodings of browsers, so that a proxy that compresses for browsers compresses this response too.
    headers: { origin, "content-type": "application/json", "accept-encoding": "gzip, deflate, br", ...headers },
    body: JSON.stringify({ public_key: publicKey, silence_ms: silenceMs, visitor_token: visitorToken }),
    isSecret: visitorToken !== undefined,
    signal,
  });
  const { status, localAddress } = response;
  const isStream = status === 200 && readHeader(response, "content-type").startsWith("text/event-stream");
  const run: PacedRun = {
    silenceMs,
    startedAtMs,
    status,
    headers: response.headers,
    localAddress,
    isStream,
    bodyStart: "",
    meta: undefined,
    ticks: [],
    damagedEvent: undefined,
    done: undefined,
    endedMs: 0,
  };
  try {
    if (isStream) await readEvents(decompress(response), run, sinceStart);
    else run.bodyStart = await readRefusal(decompress(response));
  } catch {
    // The response was cut off, or an event is damaged.
  }
  run.endedMs = sinceStart();
  return run;
}

async function readEvents(body: Readable, run: PacedRun, sinceStart: () => number): Promise<void> {
  let number = 0;
  const parser = createParser({
    onEvent({ event, data }) {
      const arrivedMs = sinceStart();
      number++;
      const fields = parseFields(data);
      if (fields === undefined) {
        run.damagedEvent = number;
        throw new Error("damaged event");
      }
      if (event === "meta") run.meta = { ...(fields as Meta), arrivedMs };
      if (event === "tick") run.ticks.push({ sentMs: Number(fields.sent_ms), arrivedMs });
      if (event === "done") run.done = { finishReason: String(fields.finish_reason), arrivedMs };
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) parser.feed(decoder.decode(chunk as Buffer, { stream: true }));
}

function parseFields(data: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(data) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

async function readRefusal(body: Readable): Promise<string> {
  let text = "";
  for await (const chunk of body) {
    text += String(chunk);
    if (text.length >= MAX_REFUSAL_CHARACTERS) break;
  }
  return text.slice(0, MAX_REFUSAL_CHARACTERS);
}

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

function decompress(response: EndpointResponse): Readable {
  const encoding = readHeader(response, "content-encoding").toLowerCase();
  if (!Object.hasOwn(DECODERS, encoding)) return response.body;
  const decoder = DECODERS[encoding as keyof typeof DECODERS]();
  // pipe() does not forward errors.
  response.body.once("error", (error) => decoder.destroy(error));
  response.body.once("aborted", () => decoder.destroy(new Error("cut off")));
  return response.body.pipe(decoder);
}
