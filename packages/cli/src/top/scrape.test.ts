import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import { expect, onTestFinished, test } from "vitest";
import { computeActivity } from "./activity.ts";
import { drawActivity } from "./draw.ts";
import { scrapeReplicas } from "./scrape.ts";

async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("reports why the metrics of a replica cannot be read", async () => {
  const edge = await startServer((_, response) => response.end("parley_streams_open 3\n"));
  const conversation = await startServer((_, response) => response.writeHead(404).end());
  const quota = await startServer((_, response) => response.end("#".repeat(8 * 1024 * 1024 + 1)));
  const llm = await startServer((request) => request.socket.destroy());
  const sample = await scrapeReplicas({
    edge: { urls: [edge] },
    conversation: { urls: [conversation] },
    quota: { urls: [quota] },
    "llm-proxy": { urls: [llm] },
  });
  const activity = computeActivity([sample], null);
  expect(activity.streams_open).toBe(3);
  expect(activity.replicas.map(({ up }) => up)).toEqual([true, false, false, false]);
  const problems = [
    `conversation at ${conversation} returned status 404`,
    `quota at ${quota} returned more than 8 MiB`,
    `llm-proxy at ${llm} is unreachable`,
  ];
  expect(activity.problems).toEqual(problems);
  const lines = drawActivity(activity, { width: 200, height: 100, color: false });
  expect(lines.filter((line) => line.includes("!")).map((line) => line.trim())).toEqual(
    problems.map((problem) => `! ${problem}`),
  );
});

const NAME = "edge-replicas.test";
const ADDRESSES = ["127.0.0.1", "127.0.0.2"];
const NOT_CONFIGURED = { conversation: { urls: [] }, quota: { urls: [] }, "llm-proxy": { urls: [] } };
const resolveTo = (...addresses: string[]) => {
  return async () => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
};

/** Starts a replica on each address, on one port. Each has as many open streams as the last digit of its address. */
async function startReplicas(create: (listener: RequestListener) => Server): Promise<number> {
  let port = 0;
  for (const address of ADDRESSES) {
    const server = create((request, response) => {
      const { servername } = request.socket as TLSSocket;
      response.end(
        `parley_streams_open{host="${request.headers.host}",servername="${servername}"} ${address.at(-1)}\n`,
      );
    });
    await once(server.listen(port, address), "listening");
    onTestFinished(() => void server.close());
    port = (server.address() as AddressInfo).port;
  }
  return port;
}

test("reads each address of a name at that address, with the name in the Host header", async () => {
  const port = await startReplicas(createServer);
  const targets = { edge: { urls: [`http://${NAME}:${port}`] }, ...NOT_CONFIGURED };
  const { replicas } = await scrapeReplicas(targets, resolveTo(...ADDRESSES));
  expect(replicas.map(({ url }) => url)).toEqual(ADDRESSES.map((address) => `http://${NAME}:${port} (${address})`));
  expect(replicas.map(({ series }) => series?.[0]?.value)).toEqual([1, 2]);
  expect(replicas.map(({ series }) => series?.[0]?.labels.host)).toEqual([`${NAME}:${port}`, `${NAME}:${port}`]);
});

test("reads each address of a name over TLS, and checks the certificate for the name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-top-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const ca = await createAuthority("Test CA");
  const directory = await createCertificates(folder, ca, NAME);
  const [cert, key] = await Promise.all(["tls.crt", "tls.key"].map((file) => readFile(join(directory, file))));
  const port = await startReplicas((listener) => createTlsServer({ cert, key }, listener));
  const authorities = getCACertificates();
  setDefaultCACertificates([ca.cert]);
  onTestFinished(() => setDefaultCACertificates(authorities));
  const scrape = async (name: string) => {
    const targets = { edge: { urls: [`https://${name}:${port}`] }, ...NOT_CONFIGURED };
    return (await scrapeReplicas(targets, resolveTo(...ADDRESSES))).replicas;
  };
  const replicas = await scrape(NAME);
  expect(replicas.map(({ series }) => series?.[0]?.value)).toEqual([1, 2]);
  expect(replicas.map(({ series }) => series?.[0]?.labels.servername)).toEqual([NAME, NAME]);
  expect((await scrape("other.test")).map(({ problem }) => problem)).toEqual(["is unreachable", "is unreachable"]);
});

test("counts a replica of a dual-stack cluster once", async () => {
  const port = await startReplicas(createServer);
  const targets = { edge: { urls: [`http://${NAME}:${port}`] }, ...NOT_CONFIGURED };
  const { replicas } = await scrapeReplicas(targets, resolveTo("::1", ...ADDRESSES, "::2"));
  expect(replicas.map(({ series }) => series?.[0]?.value)).toEqual([1, 2]);
});

test("reports a replica without an address as missing", async () => {
  const port = await startReplicas(createServer);
  const targets = { edge: { urls: [`http://${NAME}:${port}`], minReplicas: 2 }, ...NOT_CONFIGURED };
  const activity = computeActivity([await scrapeReplicas(targets, resolveTo("127.0.0.2"))], null);
  expect(activity.replicas.map(({ up }) => up)).toEqual([true, false]);
  const text = drawActivity(activity, { width: 200, height: 100, color: false }).join("\n");
  expect(text).toContain("edge 1 of 2 ready");
  expect(text).toContain(`! edge at http://${NAME}:${port} (replica 2 of 2) is missing`);
  const complete = computeActivity([await scrapeReplicas(targets, resolveTo(...ADDRESSES))], null);
  expect(complete.problems).toEqual([]);
});
