import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { fetchConfig } from "./fetch-config.ts";

const BODY = JSON.stringify({ bot: { name: "Helper" } });

test("fetchConfig sends a new request if the connection breaks in the middle of the response", async () => {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    response.writeHead(200, { "content-length": BODY.length, "retry-after": "0.01" });
    if (requests > 1) response.end(BODY);
    else response.write(BODY.slice(0, 5), () => response.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  expect(await fetchConfig(base, "svc_pk_test", new AbortController().signal)).toEqual({ name: "Helper" });
  expect(requests).toBe(2);
});
