import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import type { Resolve } from "./agent.ts";
import { type GuardedFetchOptions, guardedFetch } from "./guarded-fetch.ts";

// 127.0.0.2 stands for a public host, 127.0.0.1 and [::1] for what must not be reached.
const PUBLIC = "127.0.0.2";
const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
});

/** Answers on every loopback address; says which of them were asked. */
async function serve(listener: RequestListener): Promise<{ port: number; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.socket.localAddress?.replace("::ffff:", "")}${request.url}`);
    listener(request, response);
  });
  servers.push(server);
  server.listen(0);
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, asked };
}

const get = (url: string, options: Partial<GuardedFetchOptions> = {}) =>
  guardedFetch(url, { allow: [`${PUBLIC}/32`], timeoutMs: 5_000, maxBytes: 10_000, ...options });

const names = (table: Record<string, string[]>): Resolve => {
  const turns = new Map(Object.entries(table).map(([name, addresses]) => [name, [...addresses]]));
  return (host, _options, done) => {
    const addresses = turns.get(host) ?? [];
    const address = addresses.length > 1 ? addresses.shift() : addresses[0];
    if (address === undefined) return done(Object.assign(new Error("unknown"), { code: "ENOTFOUND" }), []);
    done(
      null,
      address.split(" ").map((each) => ({ address: each, family: each.includes(":") ? 6 : 4 })),
    );
  };
};

describe("a URL is fetched", () => {
  it("from a permitted address, with its status, type and body", async () => {
    const { port } = await serve((_, response) => response.writeHead(404, { "content-type": "text/x" }).end("gone"));
    const { status, headers, body, url } = await get(`http://${PUBLIC}:${port}/a`);
    expect({ status, type: headers.get("content-type"), text: Buffer.from(body).toString(), url }).toEqual({
      status: 404,
      type: "text/x",
      text: "gone",
      url: `http://${PUBLIC}:${port}/a`,
    });
  });

  it("through redirects, whose last address is told", async () => {
    const { port } = await serve((request, response) => {
      if (request.url === "/a") response.writeHead(302, { location: "/b" }).end();
      else response.end("b");
    });
    expect((await get(`http://${PUBLIC}:${port}/a`, { maxRedirects: 1 })).url).toBe(`http://${PUBLIC}:${port}/b`);
  });

  it("by a name whose permitted addresses alone are connected to", async () => {
    const { port, asked } = await serve((_, response) => response.end("x"));
    const resolve = names({ "docs.example": ["127.0.0.1 ::1 127.0.0.2"] });
    await get(`http://docs.example:${port}/`, { resolve });
    expect(asked).toEqual(["127.0.0.2/"]);
  });
});

describe("nothing is sent to a private address", () => {
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
    const { port, asked } = await serve((_, response) => response.end("secret"));
    await expect(get(`http://${host}:${port}/`)).rejects.toMatchObject({ code: "address_refused" });
    expect(asked).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])("that a %i redirect leads to", async (status) => {
    const { port, asked } = await serve((request, response) =>
      response
        .writeHead(status, { location: `http://127.0.0.1:${(request.socket as { localPort?: number }).localPort}/in` })
        .end(),
    );
    await expect(get(`http://${PUBLIC}:${port}/`, { maxRedirects: 5 })).rejects.toMatchObject({
      code: "address_refused",
    });
    expect(asked).toEqual([`${PUBLIC}/`]);
  });

  it("that a name resolves to", async () => {
    const { port, asked } = await serve((_, response) => response.end("secret"));
    const resolve = names({ "rebind.example": ["127.0.0.1"] });
    await expect(get(`http://rebind.example:${port}/`, { resolve })).rejects.toMatchObject({ code: "address_refused" });
    expect(asked).toEqual([]);
  });

  it("that a name resolves to the second time it is asked", async () => {
    const { port, asked } = await serve((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/in" }).end();
      else response.end("secret");
    });
    const resolve = names({ "rebind.example": ["127.0.0.2", "127.0.0.1"] });
    // The redirect stays with the host, whose name leads elsewhere by then: either the checked connection serves it, or none does.
    const outcome = await get(`http://rebind.example:${port}/`, { resolve, maxRedirects: 1 }).then(
      ({ url }) => url,
      (error: { code: string }) => error.code,
    );
    expect(["address_refused", `http://rebind.example:${port}/in`]).toContain(outcome);
    expect(asked.filter((each) => !each.startsWith(PUBLIC))).toEqual([]);
  });
});

describe("a request ends", () => {
  it.each([
    ["ftp://127.0.0.2/", "url_refused"],
    ["file:///etc/passwd", "url_refused"],
    ["data:text/plain,x", "url_refused"],
    ["not a url", "url_refused"],
    ["http://user:pw@127.0.0.2/", "url_refused"],
    ["http://no-such-host.example/", "unreachable"],
  ])("for %s with %s", async (url, code) => {
    await expect(get(url, { resolve: names({}) })).rejects.toMatchObject({ code });
  });

  it("at a redirect too many, and at any where none is allowed", async () => {
    const { port, asked } = await serve((_, response) => response.writeHead(302, { location: "/again" }).end());
    const code = { code: "too_many_redirects" };
    await expect(get(`http://${PUBLIC}:${port}/`, { maxRedirects: 3 })).rejects.toMatchObject(code);
    expect(asked).toHaveLength(4);
    await expect(get(`http://${PUBLIC}:${port}/`)).rejects.toMatchObject(code);
    await expect(get(`http://${PUBLIC}:${port}/`, { method: "POST", maxRedirects: 3 })).rejects.toMatchObject(code);
  });

  it("at the size, announced or not, and after decompression", async () => {
    const { port } = await serve((request, response) => {
      if (request.url === "/announced") response.writeHead(200, { "content-length": 20_000 }).end("x".repeat(20_000));
      else if (request.url === "/zipped")
        response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("x".repeat(5_000_000)));
      else for (let sent = 0; sent < 20; sent++) response.write("x".repeat(1_000));
    });
    for (const path of ["announced", "zipped", "endless"])
      await expect(get(`http://${PUBLIC}:${port}/${path}`)).rejects.toMatchObject({ code: "too_large" });
  });

  it("at the time, whether the head or the body is late", async () => {
    const { port } = await serve((request, response) => {
      if (request.url === "/body") response.write("x");
    });
    for (const path of ["head", "body"])
      await expect(get(`http://${PUBLIC}:${port}/${path}`, { timeoutMs: 200 })).rejects.toMatchObject({
        code: "timeout",
      });
  });

  it("with its caller's signal", async () => {
    const { port } = await serve(() => undefined);
    const signal = AbortSignal.timeout(100);
    await expect(get(`http://${PUBLIC}:${port}/`, { signal })).rejects.toBe(
      await new Promise((aborted) => signal.addEventListener("abort", () => aborted(signal.reason))),
    );
  });

  it("at what its caller makes of the head, whose body is not read", async () => {
    const { port } = await serve((_, response) => response.writeHead(200, { "content-type": "image/png" }).write("x"));
    const onHead = ({ headers }: { headers: { get(name: string): string | null } }) => {
      throw new Error(`not ${headers.get("content-type")}`);
    };
    await expect(get(`http://${PUBLIC}:${port}/`, { onHead })).rejects.toThrow("not image/png");
  });
});

it("headers are not taken along to another origin", async () => {
  const seen: (string | undefined)[] = [];
  const elsewhere = await serve((request, response) => {
    seen.push(request.headers.authorization);
    response.end();
  });
  const { port } = await serve((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(302, { location: `http://${PUBLIC}:${elsewhere.port}/` }).end();
  });
  await get(`http://${PUBLIC}:${port}/`, { headers: { authorization: "secret" }, maxRedirects: 1 });
  expect(seen).toEqual(["secret", undefined]);
});
