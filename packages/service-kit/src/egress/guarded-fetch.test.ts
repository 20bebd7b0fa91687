import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { Resolve } from "./agent.ts";
import { type GuardedFetchOptions, guardedFetch } from "./guarded-fetch.ts";
import { EgressPolicy } from "./policy.ts";

// 127.0.0.2 acts as a public host. 127.0.0.1 and [::1] act as private hosts.
const PUBLIC = "127.0.0.2";
const POLICY = new EgressPolicy([`${PUBLIC}/32`]);
/** The error for a host without a permitted address. Only `detail` distinguishes it from the error for a host that cannot be reached. */
const REFUSED = {
  code: "unreachable",
  message: "the server cannot be reached",
  detail: expect.stringContaining("no public address"),
};
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
});

/** Starts a server on every loopback address. It records the address at which each request arrives, and the request's path. */
async function startServer(listener: RequestListener): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.socket.localAddress?.replace("::ffff:", "")}${request.url}`);
    listener(request, response);
  });
  servers.push(server);
  server.listen(0);
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, requests };
}

const get = (url: string, options: Partial<GuardedFetchOptions> = {}) =>
  guardedFetch(url, { egress: { policy: POLICY }, timeoutMs: 5_000, maxBytes: 10_000, ...options });

/**
 * Returns a resolver. `table` lists each name's answers to successive queries; the last answer repeats. An answer is one or more addresses,
 * separated by spaces.
 */
const resolverOf = (table: Record<string, string[]>): Resolve => {
  const answersByName = new Map(Object.entries(table).map(([name, answers]) => [name, [...answers]]));
  return (host, _options, callback) => {
    const answers = answersByName.get(host) ?? [];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === undefined) return callback(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), []);
    callback(
      null,
      answer.split(" ").map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );
  };
};

describe("fetches a URL", () => {
  it("from a permitted address, and returns its status, headers and body", async () => {
    const { port } = await startServer((_, response) =>
      response.writeHead(404, { "content-type": "text/x" }).end("gone"),
    );
    const { status, headers, body, url } = await get(`http://${PUBLIC}:${port}/a`);
    expect({ status, type: headers.get("content-type"), text: Buffer.from(body).toString(), url }).toEqual({
      status: 404,
      type: "text/x",
      text: "gone",
      url: `http://${PUBLIC}:${port}/a`,
    });
  });

  it("through redirects, and returns the last URL", async () => {
    const { port } = await startServer((request, response) => {
      if (request.url === "/a") response.writeHead(302, { location: "/b" }).end();
      else response.end("b");
    });
    expect((await get(`http://${PUBLIC}:${port}/a`, { maxRedirects: 1 })).url).toBe(`http://${PUBLIC}:${port}/b`);
  });

  it("by host name, and connects only to the name's permitted addresses", async () => {
    const { port, requests } = await startServer((_, response) => response.end("x"));
    const resolve = resolverOf({ "docs.example": ["127.0.0.1 ::1 127.0.0.2"] });
    await get(`http://docs.example:${port}/`, { resolve });
    expect(requests).toEqual(["127.0.0.2/"]);
  });
});

describe("sends nothing to a private address", () => {
  it.each([
    ["127.0.0.1"],
    ["[::1]"],
    ["[::ffff:127.0.0.1]"],
    ["localhost"],
    ["2130706433"],
    ["0x7f.1"],
    ["0177.0.0.1"],
    ["0.0.0.0"],
    ["[::]"],
  ])("written as %s", async (host) => {
    const { port, requests } = await startServer((_, response) => response.end("secret"));
    await expect(get(`http://${host}:${port}/`)).rejects.toMatchObject(REFUSED);
    expect(requests).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])("after a %i redirect", async (status) => {
    const { port, requests } = await startServer((request, response) =>
      response
        .writeHead(status, { location: `http://127.0.0.1:${(request.socket as { localPort?: number }).localPort}/in` })
        .end(),
    );
    await expect(get(`http://${PUBLIC}:${port}/`, { maxRedirects: 5 })).rejects.toMatchObject(REFUSED);
    expect(requests).toEqual([`${PUBLIC}/`]);
  });

  it("to which a name resolves", async () => {
    const { port, requests } = await startServer((_, response) => response.end("secret"));
    const resolve = resolverOf({ "rebind.example": ["127.0.0.1"] });
    await expect(get(`http://rebind.example:${port}/`, { resolve })).rejects.toMatchObject(REFUSED);
    expect(requests).toEqual([]);
  });

  it("to which a name resolves at the second DNS query", async () => {
    const { port, requests } = await startServer((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/in", connection: "close" }).end();
      else response.end("secret");
    });
    const resolve = resolverOf({ "rebind.example": ["127.0.0.2", "127.0.0.1"] });
    // The server closes the connection, so that the redirected request must resolve the name again.
    await expect(get(`http://rebind.example:${port}/`, { resolve, maxRedirects: 1 })).rejects.toMatchObject(REFUSED);
    expect(requests).toEqual([`${PUBLIC}/`]);
  });
});

it("reports a private address, a name without an address, and a closed port with the same error after the same time", async () => {
  const closed = await startServer(() => undefined);
  await new Promise((done) => servers.pop()?.close(done));
  const resolve = resolverOf({ "private.example": ["10.0.0.1"], "mixed.example": ["10.0.0.1 fd00::1"] });
  const failures = await Promise.all(
    [
      "http://private.example/",
      "http://mixed.example/",
      "http://missing.example/",
      "http://10.0.0.1/",
      "http://127.0.0.1/",
      `http://${PUBLIC}:${closed.port}/`,
    ].map(async (url) => {
      const startedAtMs = performance.now();
      const error = await get(url, { resolve }).catch((thrown: unknown) => thrown as Error & { code: string });
      expect(performance.now() - startedAtMs, url).toBeGreaterThan(490);
      return { ...(error as { code: string }), detail: undefined, message: (error as Error).message };
    }),
  );
  expect(new Set(failures.map((each) => JSON.stringify(each))).size).toBe(1);
});

describe("ends a request", () => {
  it.each([
    ["ftp://127.0.0.2/", "url_refused"],
    ["file:///etc/passwd", "url_refused"],
    ["data:text/plain,x", "url_refused"],
    ["not a url", "url_refused"],
    ["http://user:pw@127.0.0.2/", "url_refused"],
    ["http://no-such-host.example/", "unreachable"],
  ])("to %s with %s", async (url, code) => {
    await expect(get(url, { resolve: resolverOf({}) })).rejects.toMatchObject({ code });
  });

  it("after more than maxRedirects redirects, and at the first redirect by default or for POST", async () => {
    const { port, requests } = await startServer((_, response) =>
      response.writeHead(302, { location: "/again" }).end(),
    );
    const expected = { code: "too_many_redirects" };
    await expect(get(`http://${PUBLIC}:${port}/`, { maxRedirects: 3 })).rejects.toMatchObject(expected);
    expect(requests).toHaveLength(4);
    await expect(get(`http://${PUBLIC}:${port}/`)).rejects.toMatchObject(expected);
    await expect(get(`http://${PUBLIC}:${port}/`, { method: "POST", maxRedirects: 3 })).rejects.toMatchObject(expected);
  });

  it("when the Content-Length, the received body or the decompressed body is too large", async () => {
    const { port } = await startServer((request, response) => {
      if (request.url === "/announced") response.writeHead(200, { "content-length": 20_000 }).end("x".repeat(20_000));
      else if (request.url === "/zipped")
        response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(5_000_000)));
      else for (let sent = 0; sent < 20; sent++) response.write("x".repeat(1_000));
    });
    for (const path of ["announced", "zipped", "endless"])
      await expect(get(`http://${PUBLIC}:${port}/${path}`)).rejects.toMatchObject({ code: "too_large" });
  });

  it("after the timeout, whether the response head or its body is late", async () => {
    const { port } = await startServer((request, response) => {
      if (request.url === "/body") response.write("x");
    });
    for (const path of ["head", "body"])
      await expect(get(`http://${PUBLIC}:${port}/${path}`, { timeoutMs: 200 })).rejects.toMatchObject({
        code: "timeout",
      });
  });

  it("when the caller's signal is aborted", async () => {
    const { port } = await startServer(() => undefined);
    const signal = AbortSignal.timeout(100);
    await expect(get(`http://${PUBLIC}:${port}/`, { signal })).rejects.toBe(
      await new Promise((aborted) => signal.addEventListener("abort", () => aborted(signal.reason))),
    );
  });

  it("when onHead throws, without reading the body", async () => {
    const { port } = await startServer((_, response) =>
      response.writeHead(200, { "content-type": "image/png" }).write("x"),
    );
    const onHead = ({ headers }: { headers: { get(name: string): string | null } }) => {
      throw new Error(`not ${headers.get("content-type")}`);
    };
    await expect(get(`http://${PUBLIC}:${port}/`, { onHead })).rejects.toThrow("not image/png");
  });
});

it("does not send the caller's headers to another origin after a redirect", async () => {
  const received: (string | undefined)[] = [];
  const other = await startServer((request, response) => {
    received.push(request.headers.authorization);
    response.end();
  });
  const { port } = await startServer((request, response) => {
    received.push(request.headers.authorization);
    response.writeHead(302, { location: `http://${PUBLIC}:${other.port}/` }).end();
  });
  await get(`http://${PUBLIC}:${port}/`, { headers: { authorization: "secret" }, maxRedirects: 1 });
  expect(received).toEqual(["secret", undefined]);
});
