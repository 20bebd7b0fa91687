import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { OpenAI } from "openai";
import { Agent } from "undici";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Endpoint } from "./endpoint.ts";
import { readAtMost } from "./exchange.ts";

type Seen = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

let seen: Seen[];
let answer: (response: ServerResponse) => void;
const server = createServer(async (request, response) => {
  const { method = "", url = "", headers } = request;
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  seen.push({ method, url, headers, body });
  answer(response);
});
const agent = new Agent();
let baseURL: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/of/a/path`;
});
beforeEach(() => {
  seen = [];
  answer = (response) => void response.end("{}");
});
afterAll(async () => {
  await agent.close();
  server.closeAllConnections();
  server.close();
});

type Options = ConstructorParameters<typeof OpenAI>[0];
const clientWith = (options?: Options) =>
  new OpenAI({
    baseURL,
    apiKey: "a-key",
    adminAPIKey: null,
    timeout: 60_000,
    maxRetries: 0,
    logLevel: "off",
    ...options,
  });
const never = () => new AbortController().signal;
const ask = (request: object = {}, options?: Options) =>
  new Endpoint(clientWith(options), "/chat/completions", agent).post(request, never());

/** A request but for what belongs to its connection. */
const said = ({ headers, ...rest }: Seen | undefined = { method: "", url: "", headers: {}, body: "" }) => {
  const {
    host: _,
    connection: __,
    "accept-encoding": ___,
    "accept-language": ____,
    "sec-fetch-mode": _____,
    ...own
  } = headers;
  return { ...rest, headers: own };
};

test.each<[string, Options]>([
  ["a key", {}],
  ["headers of its own, in place of the SDK's too", { defaultHeaders: { "x-own": "1", "user-agent": "other" } }],
  ["no key", { defaultHeaders: { authorization: null } }],
  ["an organization and a query", { organization: "org", project: "p", defaultQuery: { version: "2" } }],
])("asks as the SDK itself does: with %s", async (_, options) => {
  const request = { model: "m", messages: [{ role: "user" as const, content: "„Grüße“ 👋" }], stream: true as const };
  await clientWith(options).chat.completions.create(request).asResponse();
  const { body } = await ask(request, options);
  expect(await readAtMost(body, 10)).toBe("{}");
  expect(seen).toHaveLength(2);
  expect(said(seen[1])).toEqual(said(seen[0]));
});

test("a refusal says what the provider calls it, and how long it wants to be left alone", async () => {
  answer = (response) => {
    response.writeHead(429, { "content-type": "application/json", "retry-after": "7" });
    response.end(JSON.stringify({ error: { code: "insufficient_quota", message: "pay for key a-key" } }));
  };
  const failed = {
    code: "provider_rate_limited",
    reason: "http_429",
    detail: "insufficient_quota",
    retryAfterMs: 7_000,
  };
  await expect(ask()).rejects.toMatchObject({ ...failed, retryable: false });
});

test.each([
  ["no JSON", "<html>no</html>"],
  ["JSON without an error", "[1]"],
  ["null", "null"],
  ["an error that is a text", '{"error":"no"}'],
  ["nothing", ""],
])("a refusal of which the body is %s is one by its status", async (_, text) => {
  answer = (response) => {
    response.statusCode = 503;
    response.end(text);
  };
  await expect(ask()).rejects.toMatchObject({
    code: "provider_error",
    reason: "http_503",
    retryable: true,
    fault: true,
  });
});

test("a redirect is a refusal, and goes nowhere", async () => {
  answer = (response) => {
    response.writeHead(307, { location: `${baseURL}/elsewhere` });
    response.end();
  };
  await expect(ask()).rejects.toMatchObject({ reason: "http_307" });
  expect(seen).toHaveLength(1);
});

test("of a refusal no more is read than its beginning, and one that breaks off is one all the same", async () => {
  answer = (response) => {
    response.statusCode = 500;
    // Never ended.
    response.write("x".repeat(1024 * 1024));
  };
  await expect(ask()).rejects.toMatchObject({ reason: "http_500" });
  answer = (response) => {
    response.statusCode = 502;
    response.write("x");
    setTimeout(() => response.destroy(), 20);
  };
  await expect(ask()).rejects.toMatchObject({ reason: "http_502" });
});

test("a request that cannot be made fails as one that reached nobody, and names what is wrong", async () => {
  const failed = { code: "provider_error", reason: "connect", detail: "TypeError" };
  await expect(ask({}, { defaultHeaders: { "x-own": "„“" } })).rejects.toMatchObject(failed);
});

test("a call that was left before is not made", async () => {
  const endpoint = new Endpoint(clientWith(), "/chat/completions", agent);
  await expect(endpoint.post({}, AbortSignal.abort(new Error("left")))).rejects.toMatchObject({ reason: "connect" });
  expect(seen).toEqual([]);
});

test("who cannot be reached is not taken for one that refuses", async () => {
  const failed = { code: "provider_error", reason: "connect", detail: "ECONNREFUSED", retryable: true, fault: true };
  await expect(ask({}, { baseURL: "http://127.0.0.1:1/" })).rejects.toMatchObject(failed);
});
