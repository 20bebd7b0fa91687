import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { freePort, startConnectProxy } from "@parley/test-support";
import { beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createAuthority, createCertificates } from "../testing/certificates.ts";
import type { Resolve } from "./agent.ts";
import { type GuardedFetchOptions, guardedFetch } from "./guarded-fetch.ts";
import { EgressPolicy } from "./policy.ts";

// Public addresses. No test connects to them: the test proxy opens every tunnel to this machine.
const [V4, OTHER_V4, V6] = ["93.184.215.14", "93.184.215.15", "2606:2800:21f:cb07::1"];

let proxy: Awaited<ReturnType<typeof startConnectProxy>>;
beforeEach(async () => {
  proxy = await startConnectProxy();
  const started = proxy;
  return () => started.close();
});

const get = (url: string, addresses: string[], options: Partial<GuardedFetchOptions> = {}) =>
  guardedFetch(url, {
    egress: { policy: new EgressPolicy(), proxyUrl: proxy.url },
    timeoutMs: 5_000,
    maxBytes: 10_000,
    resolve: resolveTo(addresses),
    ...options,
  });

const resolveTo =
  (addresses: readonly string[]): Resolve =>
  (_host, _options, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    );

async function start(server: Server, address = "127.0.0.1"): Promise<number> {
  server.listen(0, address);
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  return (server.address() as AddressInfo).port;
}

/** `requests` of the result lists the Host header and the path of each request. */
async function startServer(listener: RequestListener = (_, response) => response.end("page"), address?: string) {
  const requests: string[] = [];
  const record = ({ headers, url }: IncomingMessage) => requests.push(`${headers.host}${url}`);
  const server = createServer((request, response) => {
    record(request);
    listener(request, response);
  });
  return { port: await start(server, address), requests };
}

const bodyText = ({ body }: { body: Uint8Array }) => Buffer.from(body).toString();

describe("with https", () => {
  let folder: string;
  let ca: Awaited<ReturnType<typeof createAuthority>>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "parley-egress-"));
    ca = await createAuthority("Documents");
    const certificates = getCACertificates("default");
    setDefaultCACertificates([...certificates, ca.cert]);
    return async () => {
      setDefaultCACertificates(certificates);
      await rm(folder, { recursive: true });
    };
  });
  async function certificateFor(host: string) {
    const directory = await createCertificates(folder, ca, host);
    return { cert: await readFile(join(directory, "tls.crt")), key: await readFile(join(directory, "tls.key")) };
  }

  it("the proxy gets the resolved address, and the server gets the name in TLS and in the Host header", async () => {
    const seen: (string | false | null | undefined)[] = [];
    const server = createTlsServer(await certificateFor("docs.example"), (request, response) => {
      seen.push((request.socket as TLSSocket & { servername?: string }).servername, request.headers.host);
      response.end("page");
    });
    const port = await start(server);
    expect(bodyText(await get(`https://docs.example:${port}/`, [V4]))).toBe("page");
    expect(proxy.authorities).toEqual([`${V4}:${port}`]);
    expect(seen).toEqual(["docs.example", `docs.example:${port}`]);
  });

  it("a certificate for another name is refused", async () => {
    const port = await start(
      createTlsServer(await certificateFor("docs.example"), (_, response) => response.end("page")),
    );
    await expect(get(`https://other.example:${port}/`, [V4])).rejects.toMatchObject({
      code: "unreachable",
      detail: "ERR_TLS_CERT_ALTNAME_INVALID",
    });
  });

  it("the proxy may have an https URL, and its certificate is checked", async () => {
    const port = await start(
      createTlsServer(await certificateFor("docs.example"), (_, response) => response.end("page")),
    );
    const tlsProxy = await startConnectProxy(await certificateFor("localhost"));
    onTestFinished(() => tlsProxy.close());
    const getThrough = (proxyUrl: string) =>
      get(`https://docs.example:${port}/`, [V4], { egress: { policy: new EgressPolicy(), proxyUrl } });
    expect(bodyText(await getThrough(`https://localhost:${tlsProxy.port}`))).toBe("page");
    await expect(getThrough(`https://127.0.0.1:${tlsProxy.port}`)).rejects.toMatchObject({
      detail: "the proxy opened no connection (ERR_TLS_CERT_ALTNAME_INVALID)",
    });
    expect(tlsProxy.authorities).toEqual([`${V4}:${port}`]);
  });
});

it("an http request also uses a tunnel, and only the server gets the path and the Host header", async () => {
  const { port, requests } = await startServer();
  expect(bodyText(await get(`http://docs.example:${port}/a`, [V4]))).toBe("page");
  expect(proxy.authorities).toEqual([`${V4}:${port}`]);
  expect(requests).toEqual([`docs.example:${port}/a`]);
});

it("connects to the scheme's default port if the URL has no port", async () => {
  proxy.respondWith(() => 403);
  await expect(get("http://docs.example/", [V4])).rejects.toThrow();
  await expect(get("https://docs.example/", [V4])).rejects.toThrow();
  expect(proxy.authorities).toEqual([`${V4}:80`, `${V4}:443`]);
});

it.each([
  [`http://${V4}`, V4],
  [`http://[${V6}]`, `[${V6}]`],
])("tunnels to the address in %s", async (origin, authority) => {
  const { port } = await startServer();
  expect(bodyText(await get(`${origin}:${port}/`, []))).toBe("page");
  expect(proxy.authorities).toEqual([`${authority}:${port}`]);
});

it.each([
  ["a private address in the URL", "http://10.0.0.1/", [V4]],
  ["a private IPv6 address in the URL", "http://[::ffff:169.254.169.254]/", [V4]],
  ["a name with only private addresses", "http://docs.example/", ["10.0.0.1", "::1"]],
])("sends no request to the proxy for %s", async (_, url, addresses) => {
  await expect(get(url, addresses)).rejects.toMatchObject({
    code: "unreachable",
    detail: expect.stringContaining("no public address"),
  });
  expect(proxy.authorities).toEqual([]);
});

it("requests tunnels only to the permitted addresses of a name", async () => {
  const { port } = await startServer();
  await get(`http://docs.example:${port}/`, ["10.0.0.1", V4]);
  expect(proxy.authorities).toEqual([`${V4}:${port}`]);
});

it("refuses a redirect to a private address", async () => {
  const { port, requests } = await startServer((_, response) =>
    response.writeHead(302, { location: "http://127.0.0.1/" }).end(),
  );
  await expect(get(`http://docs.example:${port}/`, [V4], { maxRedirects: 1 })).rejects.toMatchObject({
    detail: expect.stringContaining("no public address"),
  });
  expect([proxy.authorities.length, requests.length]).toEqual([1, 1]);
});

it("connects to the networks of EGRESS_ALLOW directly, without the proxy", async () => {
  const { port, requests } = await startServer();
  const egress = { policy: new EgressPolicy(["127.0.0.1"]), proxyUrl: proxy.url };
  await get(`http://127.0.0.1:${port}/`, [], { egress });
  await get(`http://intranet.example:${port}/`, ["127.0.0.1"], { egress });
  expect(requests).toHaveLength(2);
  expect(proxy.authorities).toEqual([]);
});

it("ignores a name's public addresses if the name also has an address in EGRESS_ALLOW", async () => {
  // 127.0.0.2 acts as a public address. The server listens only there.
  const { port, requests } = await startServer(undefined, "127.0.0.2");
  const policy = new EgressPolicy(["127.0.0.1"]);
  vi.spyOn(policy, "permits").mockImplementation((address) => address.startsWith("127.0.0."));
  const egress = { policy, proxyUrl: proxy.url };
  const failed = get(`http://intranet.example:${port}/`, ["127.0.0.2", "127.0.0.1"], { egress });
  await expect(failed).rejects.toMatchObject({ code: "unreachable" });
  expect([requests, proxy.authorities]).toEqual([[], []]);
});

it("tries IPv4 addresses first, and tries the next address when the proxy cannot reach an address", async () => {
  const { port } = await startServer();
  proxy.respondWith((authority) => (authority.startsWith("[") ? 200 : 502));
  expect(bodyText(await get(`http://docs.example:${port}/`, [V6, V4, OTHER_V4]))).toBe("page");
  expect(proxy.authorities).toEqual([`${V4}:${port}`, `${OTHER_V4}:${port}`, `[${V6}]:${port}`]);
});

it("sends the proxy's credentials to the proxy only", async () => {
  const received: IncomingMessage["headers"][] = [];
  const { port } = await startServer(({ headers }, response) => {
    received.push(headers);
    response.end();
  });
  const proxyUrl = proxy.url.replace("http://", "http://us%40er:pass%3Aword@");
  await get(`http://docs.example:${port}/`, [V4], { egress: { policy: new EgressPolicy(), proxyUrl } });
  expect(proxy.credentials).toEqual([`Basic ${Buffer.from("us@er:pass:word").toString("base64")}`]);
  expect(received).toHaveLength(1);
  expect(received[0]).not.toHaveProperty("proxy-authorization");
});

describe("reports a proxy that", () => {
  const url = "http://docs.example/";

  it.each([403, 407, 502])("refuses with %i", async (status) => {
    proxy.respondWith(() => status);
    await expect(get(url, [V4])).rejects.toMatchObject({
      code: "unreachable",
      message: "the server cannot be reached",
      detail: `the proxy refused the connection with status ${status}`,
    });
  });

  it("does not answer", async () => {
    proxy.respondWith(() => undefined);
    await expect(get(url, [V4], { timeoutMs: 300 })).rejects.toMatchObject({
      code: expect.stringMatching(/^(timeout|unreachable)$/),
    });
  });

  it("is unreachable", async () => {
    const egress = { policy: new EgressPolicy(), proxyUrl: `http://127.0.0.1:${await freePort()}` };
    await expect(get(url, [V4], { egress })).rejects.toMatchObject({
      code: "unreachable",
      detail: "the proxy opened no connection (ECONNREFUSED)",
    });
  });
});
