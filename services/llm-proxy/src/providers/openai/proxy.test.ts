import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import { startConnectProxy } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import type { OpenAiSettings } from "../../settings/index.ts";
import { createOpenAiProvider } from "./openai.client.ts";

const TIMEOUTS = { connectMs: 2_000, firstTokenMs: 5_000, silenceMs: 5_000, totalMs: 5_000 };

async function startProxy() {
  const proxy = await startConnectProxy();
  onTestFinished(() => proxy.close());
  return proxy;
}

/** Starts a provider that answers every request with one embedding, and returns its port. */
async function startProvider(tlsDir?: string): Promise<number> {
  const body = JSON.stringify({
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: [1] }],
    model: "m",
  });
  const read = (name: string) => readFile(join(tlsDir ?? "", name));
  const server =
    tlsDir === undefined
      ? createServer()
      : createTlsServer({ cert: await read("tls.crt"), key: await read("tls.key") });
  server.on("request", (_, response) => {
    response.setHeader("content-type", "application/json");
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function requestEmbedding(proxyUrl: string, baseUrl: string): Promise<void> {
  const settings = { name: "test", kind: "openai", baseUrl, headers: {}, sampling: {}, timeouts: TIMEOUTS };
  const provider = createOpenAiProvider(settings as unknown as OpenAiSettings, proxyUrl);
  onTestFinished(() => provider.close());
  const request = { model: "m", dimensions: undefined, texts: ["x"], signal: AbortSignal.timeout(5_000) };
  expect(await provider.embed?.(request)).toMatchObject({ vectors: [expect.anything()] });
}

test("a provider with an https URL is reached through the proxy, which sees only the provider's host name and port", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-proxy-"));
  const certificateAuthority = await createAuthority("Provider");
  const certificates = getCACertificates("default");
  setDefaultCACertificates([...certificates, certificateAuthority.cert]);
  onTestFinished(async () => {
    setDefaultCACertificates(certificates);
    await rm(folder, { recursive: true });
  });
  // Only the proxy can resolve this name.
  const port = await startProvider(await createCertificates(folder, certificateAuthority, "provider.example"));
  const proxy = await startProxy();
  await requestEmbedding(proxy.url, `https://provider.example:${port}/v1`);
  expect(proxy.authorities).toEqual([`provider.example:${port}`]);
});

test("a provider with an http URL is reached directly", async () => {
  const port = await startProvider();
  const proxy = await startProxy();
  await requestEmbedding(proxy.url, `http://127.0.0.1:${port}/v1`);
  expect(proxy.authorities).toEqual([]);
});
