import { X509Certificate } from "node:crypto";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { freePort } from "@parley/test-support";
import type { GenerateResult } from "selfsigned";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger } from "../process/logger.ts";
import type { Reload } from "../settings/secrets.ts";
import { createAuthority, createCertificates } from "../testing/certificates.ts";
import { watchCertificates } from "./certificate-watch.ts";
import { createRegistry, createReloadRefusalCounter } from "./metrics.ts";
import { startOpsServer } from "./ops-server.ts";
import { createTlsServer } from "./ops-tls.ts";

const HOST = "localhost";
const log = createLogger("test", "silent");

let folder: string;
let lifecycle: Lifecycle;
let authority: GenerateResult;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-ops-tls-"));
  lifecycle = new Lifecycle(log);
  authority = await createAuthority("Ops authority");
});
afterEach(async () => {
  await lifecycle.close();
  await rm(folder, { recursive: true });
});

function get(port: number, ca: string, path = "/"): Promise<{ status: number | undefined; serial: string }> {
  return new Promise((resolve, reject) => {
    const call = request({ host: HOST, port, path, ca, agent: false }, (response) => {
      const { serialNumber } = (response.socket as TLSSocket).getPeerCertificate();
      response.resume().once("end", () => resolve({ status: response.statusCode, serial: serialNumber }));
    });
    call.once("error", reject).end();
  });
}

test("the ops port serves HTTPS with the certificate in tlsDir, and refuses plain HTTP", async () => {
  const tlsDir = await createCertificates(folder, authority, HOST);
  const port = await freePort();
  const isReady = () => true;
  await startOpsServer({ host: HOST, port, tlsDir, registry: createRegistry("test"), isReady }, log, lifecycle);
  expect(await get(port, authority.cert, "/healthz/ready")).toMatchObject({ status: 200 });
  expect(await get(port, authority.cert, "/metrics")).toMatchObject({ status: 200 });
  await expect(get(port, (await createAuthority("Other authority")).cert)).rejects.toThrow(/certificate|signature/);
  await expect(fetch(`http://${HOST}:${port}/healthz/ready`)).rejects.toThrow("fetch failed");
});

test("a renewed certificate is used without a restart; an unusable key causes a warning and is not used", async () => {
  const tlsDir = await createCertificates(folder, authority, HOST);
  const warnings: unknown[] = [];
  const recorder = { warn: (fields: unknown) => void warnings.push(fields) };
  const server = createTlsServer({ tlsDir, refreshIntervalMs: 20 }, recorder, lifecycle);
  server.on("request", (_, response) => response.end());
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, HOST, resolve));
  lifecycle.onClose("server", () => void server.close());
  const { serial } = await get(port, authority.cert);

  for (const key of ["", (await createAuthority("Other key")).private]) {
    await writeFile(join(tlsDir, "tls.key"), key);
    warnings.length = 0;
    await expect.poll(() => warnings.length).toBeGreaterThan(1);
    expect(warnings[0]).toMatchObject({ task: "renew the ops certificate", error: expect.any(Error) });
    expect((await get(port, authority.cert)).serial).toBe(serial);
  }

  await cp(await createCertificates(folder, authority, HOST), tlsDir, { recursive: true });
  await expect.poll(async () => (await get(port, authority.cert)).serial).not.toBe(serial);
});

test("the ops server does not start without tls.crt", async () => {
  const port = await freePort();
  const options = { host: HOST, port, tlsDir: folder, registry: createRegistry("test"), isReady: () => true };
  await expect(startOpsServer(options, log, lifecycle)).rejects.toThrow("tls.crt");
});

test("the metrics have the certificate's expiry, and count an unusable tls.key; each reload is reported once", async () => {
  const tlsDir = await createCertificates(folder, authority, HOST);
  const registry = createRegistry("test");
  const reloadRefusals = createReloadRefusalCounter(registry);
  const reloads: string[] = [];
  const onReload = ({ file, result }: Reload) => reloads.push(`${file} ${result}`);
  watchCertificates(
    { grpcTlsDir: undefined, opsTlsDir: tlsDir, registry, reloadRefusals, onReload, refreshIntervalMs: 20 },
    log,
    lifecycle,
  );
  const read = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  const { validTo } = new X509Certificate(await readFile(join(tlsDir, "tls.crt")));
  const expiry = Date.parse(validTo) / 1_000;
  await expect.poll(() => read("parley_certificate_expiry_timestamp_seconds")).toBe(expiry);
  expect(await read("parley_reloads_refused_total")).toBe(0);
  const key = await readFile(join(tlsDir, "tls.key"));
  await writeFile(join(tlsDir, "tls.key"), "");
  await expect.poll(() => read("parley_reloads_refused_total")).toBeGreaterThan(2);
  expect(await read("parley_certificate_expiry_timestamp_seconds")).toBe(expiry);
  await writeFile(join(tlsDir, "tls.key"), key);
  await expect.poll(() => reloads).toEqual(["tls.crt refused", "tls.crt accepted"]);
});

test("the metrics count an unusable ca.crt of mutual TLS between services", async () => {
  const grpcTlsDir = await createCertificates(folder, authority, HOST);
  const registry = createRegistry("test");
  const reloadRefusals = createReloadRefusalCounter(registry);
  watchCertificates(
    { grpcTlsDir, opsTlsDir: grpcTlsDir, registry, reloadRefusals, refreshIntervalMs: 20 },
    log,
    lifecycle,
  );
  const read = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value;
  await expect.poll(() => read("parley_certificate_expiry_timestamp_seconds")).toBeGreaterThan(0);
  expect(await read("parley_reloads_refused_total")).toBe(0);
  await writeFile(join(grpcTlsDir, "ca.crt"), "");
  await expect.poll(() => read("parley_reloads_refused_total")).toBeGreaterThan(0);
});
