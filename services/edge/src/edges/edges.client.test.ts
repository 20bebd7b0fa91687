import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { StoredTurnSchema, TurnOutcome } from "@parley/rpc/conversation";
import { EdgeService } from "@parley/rpc/edge";
import {
  createCallGuard,
  createGrpcServer,
  createLogger,
  createRegistry,
  createRpcServerHistogram,
  fixedTokens,
  Lifecycle,
} from "@parley/service-kit";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import { freePort } from "@parley/test-support";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEdgeClients, formatAddress } from "./edges.client.ts";

const TOKEN = "token of this process";
const SERVER_NAME = "parley-edge.parley.svc";

let folder: string;
let lifecycle: Lifecycle;
const log = createLogger("test", "silent");
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-edges-"));
  lifecycle = new Lifecycle(log);
});
afterEach(async () => {
  await lifecycle.close();
  await rm(folder, { recursive: true });
});

/** The number of open AttachTurn calls. */
let attached = 0;

/** Starts an edge's server and returns its port. AttachTurn sends an empty text and "Hi", and then stays open until the reader leaves. */
async function startServer(tlsDir?: string): Promise<number> {
  const port = await freePort();
  const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 100, tlsDir }, lifecycle);
  const guard = createCallGuard(fixedTokens(TOKEN), createRpcServerHistogram(createRegistry("test")), log);
  const implementation = {
    async *attachTurn(_: unknown, { signal }: { signal: AbortSignal }) {
      attached++;
      try {
        yield { text: "" };
        yield { text: "Hi" };
        if (!signal.aborted) await once(signal, "abort");
      } finally {
        attached--;
      }
    },
    cancelTurn: async () => ({ outcome: TurnOutcome.CANCELLED }),
  };
  grpc.serve(EdgeService, implementation, guard);
  await grpc.listen();
  return port;
}

const turnAt = (port: number, edgeToken = TOKEN) =>
  create(StoredTurnSchema, { turnId: "t", edgeId: "e", edgeAddress: formatAddress("127.0.0.1", port), edgeToken });

const clients = (tlsDir?: string, tlsServerName?: string) =>
  createEdgeClients({ tlsDir, tlsServerName, onFailure: () => undefined });

test("cancel connects to the edge's address and verifies the name in the edge's certificate", async () => {
  const ca = await createAuthority("Parley");
  const port = await startServer(await createCertificates(folder, ca, SERVER_NAME));
  const clientTlsDir = await createCertificates(folder, ca, SERVER_NAME);
  expect(await clients(clientTlsDir, SERVER_NAME).cancel("ws", turnAt(port))).toBe("cancelled");
  await expect(clients(clientTlsDir, "parley-quota.parley.svc").cancel("ws", turnAt(port))).rejects.toMatchObject({
    code: "unavailable",
  });
});

test("a call is refused if its token belongs to an earlier process with the same address", async () => {
  const port = await startServer();
  await expect(clients().cancel("ws", turnAt(port, "token of another process"))).rejects.toMatchObject({
    code: "unauthenticated",
  });
});

test("attach streams the responses after the first, which only confirms the attachment", async () => {
  const port = await startServer();
  const parts = await clients().attach("ws", turnAt(port), 0, new AbortController().signal);
  expect(await parts?.next()).toMatchObject({ value: { text: "Hi" } });
  expect(attached).toBe(1);
  await parts?.return(undefined);
  await expect.poll(() => attached).toBe(0);
});

test("attach ends the call if the reader leaves before the first response or without reading", async () => {
  const port = await startServer();
  await expect(clients().attach("ws", turnAt(port), 0, AbortSignal.abort())).rejects.toMatchObject({
    code: "cancelled",
  });
  const parts = await clients().attach("ws", turnAt(port), 0, new AbortController().signal);
  expect(attached).toBe(1);
  await parts?.return(undefined);
  await expect.poll(() => attached).toBe(0);
});

test("attach and cancel return undefined if the edge has no address", async () => {
  const turn = create(StoredTurnSchema, { turnId: "t", edgeId: "e" });
  expect(await clients().attach("ws", turn, 0, new AbortController().signal)).toBeUndefined();
  expect(await clients().cancel("ws", turn)).toBeUndefined();
});

test("formatAddress puts an IPv6 address in brackets", () => {
  expect([formatAddress("10.0.0.1", 8088), formatAddress("fd00::1", 8088)]).toEqual([
    "10.0.0.1:8088",
    "[fd00::1]:8088",
  ]);
});
