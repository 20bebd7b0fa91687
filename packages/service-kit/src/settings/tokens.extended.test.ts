import type { ServiceImplementation } from "@parley/rpc";
import { NIL_UUID } from "@parley/rpc/formats";
import { QuotaService } from "@parley/rpc/quota";
import { freePort } from "@parley/test-support";
import { describe, expect, it } from "vitest";
import { createCallGuard, createGrpcServer } from "../grpc/grpc-server.ts";
import { connectPeer } from "../grpc/rpc-peers.ts";
import { createRegistry, createRpcServerHistogram } from "../ops/metrics.ts";
import { createLogger } from "../process/logger.ts";
import { useTokenFiles } from "../testing/token-files.ts";
import type { Tokens } from "./tokens.ts";

const log = createLogger("test", "silent");
const files = useTokenFiles();
const { write, open, openInternal } = files;

/** Starts a server that accepts `tokens`. Returns a function that connects a client. The client is a function that calls the server. */
async function startServer(tokens: Tokens, serverLog = log) {
  const port = await freePort();
  const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 500 }, files.lifecycle);
  const implementation = { reserve: () => Promise.resolve({ used: 7 }) };
  const guard = createCallGuard(tokens, createRpcServerHistogram(createRegistry("test")), serverLog);
  grpc.serve(QuotaService, implementation as unknown as ServiceImplementation<typeof QuotaService>, guard);
  await grpc.listen();
  return (internalTokens: Tokens, isMultiplexed: boolean) => {
    const options = { target: `127.0.0.1:${port}`, internalTokens, isMultiplexed };
    const client = connectPeer(QuotaService, options, files.lifecycle);
    return () => client.reserve({ workspaceId: "ws_1", turnId: NIL_UUID }, { timeoutMs: 5_000 });
  };
}

describe.each([
  ["multiplexed", true],
  ["plain", false],
])("the internal token of %s calls", (_, isMultiplexed) => {
  it("rotates without a failed call, whichever side reloads its file first", async () => {
    const serverTokens = open(await write("server", "old"));
    const clientTokens = open(await write("client", "old"));
    const connect = await startServer(serverTokens);
    const call = connect(clientTokens, isMultiplexed);
    for (const list of [["old", "new"], ["new", "old"], ["new"]]) {
      // In the second step, the client reloads its file first; in the other steps, the server does.
      const names = list[0] === "new" && list.length === 2 ? ["client", "server"] : ["server", "client"];
      for (const name of names) {
        await write(name, ...list);
        const tokens = name === "server" ? serverTokens : clientTokens;
        await expect
          .poll(() => [tokens.authorization(), tokens.accepts("Bearer old")])
          .toEqual([`Bearer ${list[0]}`, list.includes("old")]);
        // All calls of a multiplexed stream use the token that opened it. A client replaces a stream at the first call after 500 ms.
        const endMs = performance.now() + 700;
        while (performance.now() < endMs) expect(await call()).toMatchObject({ used: 7 });
      }
    }
    const rejected = connect(open(await write("third", "old")), isMultiplexed);
    await expect(rejected()).rejects.toMatchObject({ code: "unauthenticated" });
  }, 60_000);

  it("is named in the server's log if it differs, once and without the token, however many calls are refused", async () => {
    const lines: string[] = [];
    const serverLog = createLogger("test", "info", { write: (line) => void lines.push(line) });
    const connect = await startServer(open(await write("server", "the-token")), serverLog);
    const call = connect(open(await write("client", "another-token")), isMultiplexed);
    for (let calls = 0; calls < 20; calls++) await expect(call()).rejects.toMatchObject({ code: "unauthenticated" });
    const refusals = lines.filter((line) => line.includes("call refused, the caller sent another INTERNAL_TOKEN"));
    expect(refusals).toHaveLength(1);
    expect(lines.join("")).not.toMatch(/the-token|another-token/);
  });

  it("is replaced in one step without a failed call, if the other side reads its file before the handover ends", async () => {
    const HANDOVER_MS = 2_000;
    const tokens = {
      server: openInternal(await write("server", "old"), HANDOVER_MS),
      client: openInternal(await write("client", "old"), HANDOVER_MS),
    };
    const call = (await startServer(tokens.server))(tokens.client, isMultiplexed);
    const callUntil = async (endMs: number) => {
      while (performance.now() < endMs) expect(await call()).toMatchObject({ used: 7 });
    };
    const startMs = performance.now();
    await write("client", "new");
    await callUntil(startMs + HANDOVER_MS / 2);
    await write("server", "new");
    await callUntil(startMs + 4 * HANDOVER_MS);
    expect(tokens.server.accepts("Bearer old")).toBe(false);
  }, 60_000);
});
