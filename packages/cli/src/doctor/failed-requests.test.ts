import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { checkCors } from "./cors.ts";
import type { Endpoint } from "./http-request.ts";
import { runPaced } from "./paced-run.ts";
import { explainRefusal } from "./refusal.ts";
import { checkSilence } from "./stream-checks.ts";

const ORIGIN = "https://www.example.com";
const REQUEST = { publicKey: "svc_pk_1", origin: ORIGIN, silenceMs: 0, headers: {} };

async function startServer(listener: RequestListener): Promise<Endpoint> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), http2: false };
}

test("a configuration request without a response is not explained as wrong headers", async () => {
  const endpoint = await startServer((request, response) => {
    if (request.method !== "OPTIONS") return request.socket.destroy();
    response.writeHead(204, {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type",
    });
    return response.end();
  });
  expect(await checkCors(endpoint, "svc_pk_1", ORIGIN)).toMatchObject({
    result: "fail",
    message: "the widget configuration got no response",
  });
});

test("a refused stream is not explained as a timeout of a proxy", async () => {
  const endpoint = await startServer((_, response) => response.writeHead(429).end('{"error":"rate_limited"}'));
  expect(checkSilence(await runPaced(endpoint, REQUEST))).toMatchObject({
    result: "warn",
    message: "not checked, because the stream was refused with status 429: run the command again",
  });
});

test("an empty response with status 200 is not a stream of the edge", async () => {
  const endpoint = await startServer((_, response) => response.end());
  const run = await runPaced(endpoint, REQUEST);
  expect(run.isStream).toBe(false);
  expect(explainRefusal(run, ORIGIN)).toMatchObject({ result: "fail", message: expect.stringContaining("200") });
});
