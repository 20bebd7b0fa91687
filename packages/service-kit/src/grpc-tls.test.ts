import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServiceImplementation } from "@parley/rpc";
import { QuotaService } from "@parley/rpc/quota";
import { freePort } from "@parley/test-support";
import { type GenerateResult, generate } from "selfsigned";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CallGuard, createGrpcServer } from "./grpc-server.ts";
import { serverCredentials } from "./grpc-tls.ts";
import { Lifecycle } from "./lifecycle.ts";
import { createLogger } from "./logger.ts";
import { connectPeer } from "./rpc-peers.ts";

let folder: string;
let lifecycle: Lifecycle;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-tls-"));
  lifecycle = new Lifecycle(createLogger("test", "silent"));
});
afterEach(async () => {
  await lifecycle.close();
  await rm(folder, { recursive: true });
});

const guard: CallGuard = { intercept: (_, next) => next(), isAuthorized: () => true };

function createAuthority(name: string): Promise<GenerateResult> {
  return generate([{ name: "commonName", value: name }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", keyCertSign: true },
    ],
  });
}

/** Creates a directory like cert-manager's, with a certificate for `host`. */
async function createCertificates(ca: GenerateResult, host: string): Promise<string> {
  const certificate = await generate([{ name: "commonName", value: host }], {
    keyType: "ec",
    algorithm: "sha256",
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: "extKeyUsage", serverAuth: true, clientAuth: true },
      { name: "subjectAltName", altNames: [{ type: 2, value: host }] },
    ],
  });
  const directory = await mkdtemp(join(folder, "certificates-"));
  await writeFile(join(directory, "ca.crt"), ca.cert);
  await writeFile(join(directory, "tls.crt"), certificate.cert);
  await writeFile(join(directory, "tls.key"), certificate.private);
  return directory;
}

/** Starts a server and returns a function that calls it with a client's directory. */
async function startServer(tlsDir: string | undefined): Promise<(clientDir: string | undefined) => Promise<unknown>> {
  const port = await freePort();
  const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 500, tlsDir }, lifecycle);
  const implementation = { getUsage: () => Promise.resolve({ used: 7 }) };
  grpc.serve(QuotaService, implementation as unknown as ServiceImplementation<typeof QuotaService>, guard);
  await grpc.listen();
  return (clientDir) =>
    connectPeer(
      QuotaService,
      { target: `localhost:${port}`, internalToken: "token", tlsDir: clientDir },
      lifecycle,
    ).getUsage({ workspaceId: "ws_1" }, { timeoutMs: 3_000 });
}

describe("gRPC with mutual TLS", () => {
  it("answers a caller with a certificate of the same authority", async () => {
    const ca = await createAuthority("Parley");
    const call = await startServer(await createCertificates(ca, "localhost"));
    await expect(call(await createCertificates(ca, "edge"))).resolves.toMatchObject({ used: 7 });
  });

  it("refuses a caller without a certificate, and one with a certificate of another authority", async () => {
    const call = await startServer(await createCertificates(await createAuthority("Parley"), "localhost"));
    await expect(call(undefined)).rejects.toMatchObject({ code: "unavailable" });
    await expect(call(await createCertificates(await createAuthority("Other"), "edge"))).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("a caller refuses a server whose certificate has another name", async () => {
    const ca = await createAuthority("Parley");
    const call = await startServer(await createCertificates(ca, "llm-proxy"));
    await expect(call(await createCertificates(ca, "edge"))).rejects.toMatchObject({ code: "unavailable" });
  });

  it("throws when a file is missing", async () => {
    const directory = await createCertificates(await createAuthority("Parley"), "localhost");
    await rm(join(directory, "tls.key"));
    expect(() => serverCredentials(directory)).toThrow("tls.key");
  });
});
