import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { readMetric } from "../../system/metrics.ts";
import { openConnection } from "../../system/raw-http.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

const MIB = 1024 * 1024;

export function protocolSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  let port: number;
  beforeAll(() => {
    fixture = shared();
    port = fixture.system.edges[0]?.port ?? 0;
  });

  async function sendRefusedRequest(bytes: string): Promise<string> {
    const client = openConnection(port);
    client.socket.write(bytes);
    const answer = await client.closed;
    const [head = "", body = ""] = answer.split("\r\n\r\n");
    expect(head.toLowerCase()).toContain("x-content-type-options: nosniff");
    expect(head.toLowerCase()).toContain("content-type: application/json");
    return `${head.split(" ")[1]} ${body}`;
  }

  test.each([
    ["a request that is not HTTP", "hello\r\n\r\n", '400 {"error":"bad_request"}'],
    [
      "a request with two content lengths",
      "POST /api/chat/ HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
      '400 {"error":"bad_request"}',
    ],
    [
      "a request with both a content length and chunked encoding",
      "POST /api/chat/ HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
      '400 {"error":"bad_request"}',
    ],
    [
      "a request with more than 16 KiB of headers",
      `GET /healthz/live HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(17 * 1024)}\r\n\r\n`,
      '431 {"error":"headers_too_large"}',
    ],
    [
      "a request with more than 100 headers",
      `GET /healthz/live HTTP/1.1\r\nhost: a\r\n${"x: y\r\n".repeat(100)}\r\n`,
      '431 {"error":"headers_too_large"}',
    ],
    [
      "a request without Host",
      "GET /healthz/live HTTP/1.1\r\nconnection: close\r\n\r\n",
      '400 {"error":"bad_request"}',
    ],
    [
      "a request with two Hosts",
      "GET /healthz/live HTTP/1.1\r\nhost: a\r\nHOST: b\r\n\r\n",
      '400 {"error":"bad_request"}',
    ],
    [
      "a request with the same Host twice",
      "POST /api/chat/ HTTP/1.1\r\nhost: a\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}",
      '400 {"error":"bad_request"}',
    ],
    [
      "an HTTP/1.0 request with two Hosts",
      "GET /healthz/live HTTP/1.0\r\nhost: a\r\nhost: b\r\n\r\n",
      '400 {"error":"bad_request"}',
    ],
    [
      "a request with an unknown expectation",
      "POST /api/chat/ HTTP/1.1\r\nhost: a\r\nexpect: 200-ok\r\ncontent-length: 2\r\n\r\n{}",
      '417 {"error":"expectation_failed"}',
    ],
    [
      "a request with two unknown expectations",
      "GET /healthz/live HTTP/1.1\r\nhost: a\r\nexpect: x, y\r\n\r\n",
      '417 {"error":"expectation_failed"}',
    ],
    ...["gzip", "GZIP", "br", "deflate", "identity, gzip", "x"].map((encoding): [string, string, string] => [
      `a JSON body with Content-Encoding: ${encoding}`,
      `POST /api/chat/ HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-encoding: ${encoding}\r\ncontent-length: 2\r\n\r\n{}`,
      '400 {"error":"invalid_json"}',
    ]),
  ])("%s gets a JSON error and is counted as refused", async (_, bytes, refusal) => {
    const [edge] = fixture.system.edges;
    if (edge === undefined) throw new Error("no edge");
    const { error: code } = JSON.parse(refusal.slice(4)) as { error: string };
    const refused = () => readMetric(edge, "parley_requests_refused_total", { code });
    const before = await refused();
    expect(await sendRefusedRequest(bytes)).toBe(refusal);
    expect(await refused()).toBe(before + 1);
  });

  test("a client can read the 413 while it is still sending an oversized body", async () => {
    for (const framing of [`content-length: ${40 * MIB}`, "transfer-encoding: chunked"]) {
      const client = openConnection(port);
      const isChunked = framing.startsWith("transfer");
      const piece = isChunked ? `10000\r\n${"x".repeat(0x10000)}\r\n` : "x".repeat(0x10000);
      client.socket.write(`POST /api/chat/ HTTP/1.1\r\nhost: a\r\norigin: https://shop.example\r\n${framing}\r\n\r\n`);
      // Sends 32 MiB although the edge has already responded.
      for (let sent = 0; sent < 512; sent++) {
        if (!client.socket.write(piece)) await once(client.socket, "drain");
      }
      await expect.poll(client.text, { timeout: 5_000 }).toMatch(/^HTTP\/1.1 413 .*\{"error":"payload_too_large"\}$/s);
      // A reset would arrive within this time.
      await sleep(50);
      expect(client.socket.destroyed).toBe(false);
      client.socket.destroy();
    }
  });

  test("a connection serves the next request after a refused one", async () => {
    for (const [target, status] of [
      ["POST /api/chat/", 413],
      ["PUT /api/chat/", 405],
      ["POST /nothing", 404],
      ["OPTIONS /api/chat/", 405],
    ] as const) {
      const client = openConnection(port);
      client.socket.write(`${target} HTTP/1.1\r\nhost: a\r\ncontent-length: ${MIB}\r\n\r\n`);
      client.socket.write("x".repeat(MIB));
      client.socket.write("GET /healthz/live HTTP/1.1\r\nhost: a\r\n\r\n");
      const responses = new RegExp(`^HTTP/1.1 ${status} [^]*HTTP/1.1 200 [^]*\\{"status":"live"\\}$`);
      await expect.poll(client.text, { timeout: 5_000 }).toMatch(responses);
      client.socket.destroy();
    }
  });

  test("every response has the security headers", async () => {
    const { system, tenant } = fixture;
    const { origin, publicKey } = tenant;
    const get = (path: string, init: RequestInit = {}) => fetch(`${system.url()}${path}`, init);
    const preflight = { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } };
    const responses = await Promise.all([
      postChat(system.url(), tenant),
      postChat(system.url(), tenant, { message: "" }),
      get("/api/chat/"),
      get("/api/chat/", preflight),
      get(`/api/widget/config/?public_key=${publicKey}`, { headers: { origin } }),
      get("/api/conversations/none/export.json"),
      get("/nothing/here"),
      get("/openapi.json"),
      get("/healthz/ready"),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 400, 405, 204, 200, 401, 404, 200, 200]);
    for (const { headers, url, body } of responses) {
      expect(headers.get("x-content-type-options"), url).toBe("nosniff");
      expect(headers.get("referrer-policy"), url).toBe("no-referrer");
      expect(headers.get("content-security-policy"), url).toBe("default-src 'none'; frame-ancestors 'none'");
      await body?.cancel();
    }
  });
}
