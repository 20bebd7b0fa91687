import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { Server, type ServerCredentials } from "@grpc/grpc-js";
import type { ServiceImplementation } from "@parley/rpc";
import { NIL_UUID } from "@parley/rpc/formats";
import { QuotaService } from "@parley/rpc/quota";
import { freePort } from "@parley/test-support";
import type { GenerateResult } from "selfsigned";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger } from "../process/logger.ts";
import { fixedTokens } from "../settings/tokens.ts";
import { createAuthority, createCertificates } from "../testing/certificates.ts";
import { CertificateFiles } from "./certificate-files.ts";
import { type CallGuard, createGrpcServer } from "./grpc-server.ts";
import { serverCredentials } from "./grpc-tls.ts";
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

/** Starts a server. Returns a function that calls it with the certificates in `clientDir`. */
async function startServer(tlsDir: string | undefined): Promise<(clientDir: string | undefined) => Promise<unknown>> {
  const port = await freePort();
  const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 500, tlsDir }, lifecycle);
  const implementation = { reserve: () => Promise.resolve({ used: 7 }) };
  grpc.serve(QuotaService, implementation as unknown as ServiceImplementation<typeof QuotaService>, guard);
  await grpc.listen();
  return (clientDir) =>
    connectPeer(
      QuotaService,
      { target: `localhost:${port}`, internalTokens: fixedTokens("token"), tlsDir: clientDir },
      lifecycle,
    ).reserve({ workspaceId: "ws_1", turnId: NIL_UUID }, { timeoutMs: 10_000 });
}

describe("gRPC with mutual TLS", () => {
  it("answers a caller whose certificate is from the same authority", async () => {
    const ca = await createAuthority("Parley");
    const call = await startServer(await createCertificates(folder, ca, "localhost"));
    await expect(call(await createCertificates(folder, ca, "edge"))).resolves.toMatchObject({ used: 7 });
  });

  it("refuses a caller without a certificate, and one with a certificate of another authority", async () => {
    const call = await startServer(await createCertificates(folder, await createAuthority("Parley"), "localhost"));
    await expect(call(undefined)).rejects.toMatchObject({ code: "unavailable" });
    await expect(call(await createCertificates(folder, await createAuthority("Other"), "edge"))).rejects.toMatchObject({
      code: "unavailable",
    });
  });

  it("a caller refuses a server whose certificate is for another host name", async () => {
    const ca = await createAuthority("Parley");
    const call = await startServer(await createCertificates(folder, ca, "llm-proxy"));
    await expect(call(await createCertificates(folder, ca, "edge"))).rejects.toMatchObject({ code: "unavailable" });
  });

  it("rotates the authority in steps: processes at two successive steps can call each other", async () => {
    const [oldCa, newCa] = [await createAuthority("Old"), await createAuthority("New")];
    const createTlsDir = async (ca: GenerateResult, trusted: readonly GenerateResult[], host: string) => {
      const directory = await createCertificates(folder, ca, host);
      await writeFile(join(directory, "ca.crt"), trusted.map(({ cert }) => cert).join("\n"));
      return directory;
    };
    const steps: [ca: GenerateResult, trusted: GenerateResult[]][] = [
      [oldCa, [oldCa]],
      [oldCa, [oldCa, newCa]],
      [newCa, [oldCa, newCa]],
      [newCa, [newCa]],
    ];
    const serverCalls = await Promise.all(
      steps.map(async (step) => startServer(await createTlsDir(...step, "localhost"))),
    );
    const clientDirs = await Promise.all(steps.map((step) => createTlsDir(...step, "edge")));
    for (const [serverStep, call] of serverCalls.entries()) {
      for (const clientStep of [serverStep - 1, serverStep, serverStep + 1].filter((step) => step in clientDirs)) {
        await expect(
          call(clientDirs[clientStep]),
          `server at ${serverStep}, client at ${clientStep}`,
        ).resolves.toMatchObject({ used: 7 });
      }
    }
    await expect(serverCalls[3]?.(clientDirs[0])).rejects.toMatchObject({ code: "unavailable" });
  });

  it("CertificateFiles reads the files again when it gets a listener after a time without listeners", async () => {
    const ca = await createAuthority("Parley");
    const directory = await createCertificates(folder, ca, "edge");
    const files = new CertificateFiles(directory, 60_000);
    const receiveCertificate = () =>
      new Promise<string>((resolve) => {
        const listener: Parameters<typeof files.addIdentityCertificateListener>[0] = (update) => {
          files.removeIdentityCertificateListener(listener);
          resolve(String(update?.certificate));
        };
        files.addIdentityCertificateListener(listener);
      });
    const first = await receiveCertificate();
    const renewed = await createCertificates(folder, ca, "edge");
    for (const file of ["tls.crt", "tls.key"]) await copyFile(join(renewed, file), join(directory, file));
    expect(await receiveCertificate()).toBe(await readFile(join(renewed, "tls.crt"), "utf8"));
    expect(await receiveCertificate()).not.toBe(first);
  });

  it("a server keeps its certificate while tls.key does not match tls.crt, and then uses the renewed certificate", async () => {
    const ca = await createAuthority("Parley");
    const [serverDir, clientDir] = [
      await createCertificates(folder, ca, "localhost"),
      await createCertificates(folder, ca, "edge"),
    ];
    const server = new Server();
    const port = await promisify<string, ServerCredentials, number>(server.bindAsync.bind(server))(
      "127.0.0.1:0",
      serverCredentials(serverDir, 20),
    );
    try {
      const read = (file: string) => readFile(join(clientDir, file));
      const [cert, key] = [await read("tls.crt"), await read("tls.key")];
      const servedCertificate = async () => {
        const socket = connect({ port, cert, key, ca: ca.cert, ALPNProtocols: ["h2"], servername: "localhost" });
        await once(socket, "secureConnect");
        const { fingerprint256 } = socket.getPeerCertificate();
        socket.destroy();
        return fingerprint256;
      };
      const [first, renewed] = [await servedCertificate(), await createCertificates(folder, ca, "localhost")];
      await copyFile(join(renewed, "tls.key"), join(serverDir, "tls.key"));
      await sleep(200);
      expect(await servedCertificate()).toBe(first);
      await copyFile(join(renewed, "tls.crt"), join(serverDir, "tls.crt"));
      await expect.poll(servedCertificate).not.toBe(first);
    } finally {
      server.forceShutdown();
    }
  });

  it("serverCredentials throws when a file is missing", async () => {
    const directory = await createCertificates(folder, await createAuthority("Parley"), "localhost");
    await rm(join(directory, "tls.key"));
    expect(() => serverCredentials(directory)).toThrow("tls.key");
  });
});
