import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { checkCors } from "./cors.ts";
import { diagnose } from "./diagnose.ts";
import type { Endpoint } from "./http-request.ts";
import { runPaced } from "./paced-run.ts";
import { explainRefusal } from "./refusal.ts";
import { checkBuffering, checkSilence } from "./stream-checks.ts";

const ORIGIN = "https://www.example.com";
const REQUEST = { publicKey: "svc_pk_1", origin: ORIGIN, silenceMs: 0, headers: {} };

async function startServer(listener: RequestListener): Promise<Endpoint> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), http2: false };
}

/** Starts a server that permits every CORS preflight and handles the other requests with `listener`. */
function startConfigurationServer(listener: RequestListener): Promise<Endpoint> {
  return startServer((request, response) => {
    if (request.method !== "OPTIONS") return listener(request, response);
    response.writeHead(204, {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type",
    });
    return response.end();
  });
}

test.each<[string, RequestListener]>([
  ["no response", (request) => request.socket.destroy()],
  ["status 404", (_, response) => response.writeHead(404).end()],
  ["status 502", (_, response) => response.writeHead(502).end()],
])("reports that a configuration request got %s, not that CORS headers are wrong", async (outcome, listener) => {
  expect(await checkCors(await startConfigurationServer(listener), "svc_pk_1", ORIGIN)).toMatchObject({
    result: "fail",
    message: `the widget configuration got ${outcome}`,
  });
});

test("a response without CORS headers is reported as one that allows no origin", async () => {
  const endpoint = await startConfigurationServer((_, response) => response.writeHead(200, { vary: "origin" }).end());
  expect((await checkCors(endpoint, "svc_pk_1", ORIGIN)).message).toBe(
    `the widget configuration response must allow ${ORIGIN}, but allows no origin`,
  );
});

test("a refused stream is not reported as a proxy's timeout", async () => {
  const endpoint = await startServer((_, response) => response.writeHead(429).end('{"error":"rate_limited"}'));
  expect(checkSilence(await runPaced(endpoint, REQUEST))).toMatchObject({
    result: "warn",
    message: "not checked, because the stream was refused with status 429: run the command again",
  });
});

/** Starts a server that sends `count` `tick` events, and then closes the connection without `done`. */
function startCuttingServer(count: number): Promise<Endpoint> {
  return startServer((request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let number = 1; number <= count; number++) response.write(`event: tick\ndata: {"sent_ms":${number}}\n\n`);
    setImmediate(() => request.socket.end());
  });
}

test("a stream that is cut before its last event fails the buffering check and, if a silence was requested, the silence check", async () => {
  const endpoint = await startCuttingServer(9);
  const message = expect.stringMatching(/^the stream was cut off after 9 of 20 events, \d\.\d s after the request$/);
  const cut = { result: "fail", message, cause: "timeout" };
  expect(checkBuffering(await runPaced(endpoint, REQUEST))).toMatchObject(cut);
  expect(checkSilence(await runPaced(endpoint, { ...REQUEST, silenceMs: 20_000 }))).toMatchObject(cut);
});

test.each([
  ["its third event", 'event: tick\ndata: {"sent_ms":1}\n\n'.repeat(2), 3],
  ["its first event", "", 1],
])("a stream is not reported as cut off if %s is not valid JSON", async (_, before, damaged) => {
  const endpoint = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`${before}event: tick\ndata: {"sent_ms":<b>1</b>}\n\nevent: done\ndata: {"finish_reason":"stop"}\n\n`);
  });
  const run = await runPaced(endpoint, { ...REQUEST, silenceMs: 20_000 });
  expect(checkBuffering(run)).toMatchObject({
    result: "fail",
    message: `event ${damaged} is not valid JSON: a proxy changes the events`,
    fix: "find the proxy that changes response bodies, and exclude /api/ from it",
  });
  expect(checkSilence(run)).toMatchObject({
    result: "warn",
    message: "not checked, because a proxy changes the events: correct the proxy first",
  });
});

test("a stream that is cut during the silence fails only the silence check", async () => {
  const endpoint = await startCuttingServer(20);
  const run = await runPaced(endpoint, { ...REQUEST, silenceMs: 20_000 });
  expect(checkBuffering(run).result).toBe("pass");
  expect(checkSilence(run).message).toMatch(/^the stream was cut off 0\.\d s into a silence of 20 s/);
  // Without a silence there is no silence check, so the buffering check must report the missing end.
  expect(checkBuffering({ ...run, silenceMs: 0 }).result).toBe("fail");
});

test("the buffering check counts each event that arrived together with the previous event, in all batches", async () => {
  const endpoint = await startServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end('event: done\ndata: {"finish_reason":"stop"}\n\n');
  });
  const run = await runPaced(endpoint, REQUEST);
  const inBatchesOf = (size: number) => ({
    ...run,
    ticks: Array.from({ length: 20 }, (_, index) => ({
      sentMs: index * 100,
      arrivedMs: Math.ceil((index + 1) / size) * size * 100,
    })),
  });
  const bufferedMessage = (together: number, delay: string) =>
    `${together} of 19 events arrived together with the previous one, and their delays differed by up to ${delay} s: a proxy buffers them`;
  expect(checkBuffering(inBatchesOf(5)).message).toBe(bufferedMessage(16, "0.4"));
  expect(checkBuffering(inBatchesOf(20)).message).toBe(bufferedMessage(19, "1.9"));
  expect(checkBuffering(inBatchesOf(1)).message).toBe(
    "20 events arrived one by one, and their delays differed by at most 0 ms",
  );
});

test("an empty response with status 200 is reported as not from Parley", async () => {
  const endpoint = await startServer((_, response) => response.end());
  const run = await runPaced(endpoint, REQUEST);
  expect(run.isStream).toBe(false);
  expect(explainRefusal(run, ORIGIN)).toMatchObject({ result: "fail", message: expect.stringContaining("200") });
});

/** Diagnoses an edge whose proxy resets the requests that `isReset` selects. The edge accepts every token. Returns the findings by check. */
async function diagnoseWithResets(
  isReset: (headers: IncomingHttpHeaders, silenceMs: number) => boolean,
  { hostname = "127.0.0.1", visitorToken }: { hostname?: string; visitorToken?: string } = {},
) {
  const { url } = await startServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(204).end();
    const body = JSON.parse(await text(request)) as { silence_ms: number; visitor_token?: string };
    const { silence_ms: silenceMs, visitor_token: sentToken } = body;
    if (isReset(request.headers, silenceMs)) return request.socket.resetAndDestroy();
    const client = { address: "127.0.0.1", counted_as: "127.0.0.1", from: "connection" };
    const server_time = new Date().toISOString();
    const accepted = sentToken !== undefined && { visitor_token: "accepted" };
    const meta = { client, http_version: "1.1", forwarded_headers: [], server_time, ...accepted };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`event: meta\ndata: ${JSON.stringify(meta)}\n\nevent: tick\ndata: {"sent_ms":1}\n\n`);
    return response.end('event: done\ndata: {"finish_reason":"stop"}\n\n');
  });
  url.hostname = hostname;
  const request = { publicKey: "svc_pk_1", origin: ORIGIN, silenceMs: 1, proxy: undefined, visitorToken };
  const { findings } = await diagnose({ ...request, url, progress: () => undefined });
  return Object.fromEntries(findings.map(({ check, result, message }) => [check, `${result}: ${message}`]));
}

test("a lost response affects only its own check", async () => {
  const access = `pass: the key is valid and allows ${ORIGIN}`;
  const buffering = expect.stringMatching(/^pass/);
  expect(await diagnoseWithResets((headers) => headers["x-forwarded-for"] !== undefined)).toMatchObject({
    ...{ access, buffering },
    idle_timeout: expect.stringMatching(/^pass/),
    forged_address: "warn: not checked: the request with a forged X-Forwarded-For got no response (ECONNRESET)",
  });
  expect(await diagnoseWithResets((_, silenceMs) => silenceMs > 0)).toMatchObject({
    ...{ access, buffering },
    idle_timeout: "warn: not checked, because the stream got no response (ECONNRESET): run the command again",
    forged_address: expect.stringMatching(/^pass/),
  });
  const isPlain = (headers: IncomingHttpHeaders, silenceMs: number) =>
    headers["x-forwarded-for"] === undefined && silenceMs === 0;
  expect(await diagnoseWithResets(isPlain)).toMatchObject({
    access: "warn: one request got no response (ECONNRESET), another one did",
    buffering,
    forged_address: expect.stringMatching(/^pass/),
  });
});

test("without TLS, a visitor token is sent only on a local machine or network", async () => {
  const findTokenCheck = async (hostname: string) =>
    (await diagnoseWithResets(() => false, { hostname, visitorToken: "a.b.c" })).visitor_token;
  expect(await findTokenCheck("127.0.0.1")).toMatch(/^pass: accepted/);
  // This address leads to this machine, but is not one of a local network.
  expect(await findTokenCheck("0.0.0.0")).toBe(
    "warn: not checked: the token is not sent to a server without a valid certificate",
  );
});

test("the access check fails if no request gets a response", async () => {
  expect((await diagnoseWithResets(() => true)).access).toBe(
    "fail: the connection broke before a response (ECONNRESET)",
  );
});

test("the access check does not report a wrong backend if only the request with a forged address gets a response", async () => {
  const { access } = await diagnoseWithResets((headers) => headers["x-forwarded-for"] === undefined);
  expect(access).toBe("fail: one request got no response (ECONNRESET), another one did");
});
