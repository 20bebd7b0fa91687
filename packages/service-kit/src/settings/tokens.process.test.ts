import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectRouter } from "@connectrpc/connect";
import type { ServiceImplementation } from "@parley/rpc";
import { QuotaService } from "@parley/rpc/quota";
import { freePort, replaceFile } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCallGuard, createGrpcServer } from "../grpc/grpc-server.ts";
import { connectPeer } from "../grpc/rpc-peers.ts";
import { createRegistry, createReloadRefusalCounter, createRpcServerHistogram } from "../ops/metrics.ts";
import { startOpsServer } from "../ops/ops-server.ts";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger } from "../process/logger.ts";
import { openTokens, parseTokens, type Tokens } from "./tokens.ts";

const log = createLogger("test", "silent");
const REFRESH_MS = 10;

let folder: string;
let lifecycle: Lifecycle;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-tokens-"));
  lifecycle = new Lifecycle(log);
});
afterEach(async () => {
  await lifecycle.close();
  await rm(folder, { recursive: true });
});

async function write(name: string, ...tokens: string[]): Promise<string> {
  const file = join(folder, name);
  await replaceFile(file, tokens.join("\n"));
  return file;
}

const sourceOf = (file: string) => ({ name: "INTERNAL_TOKEN", parse: parseTokens, file });

const open = (file: string) => openTokens(sourceOf(file), { log, lifecycle, refreshIntervalMs: REFRESH_MS });

/** Starts a server that accepts `tokens`. Returns a function that connects a client with its own tokens and returns its call. */
async function startServer(tokens: Tokens) {
  const port = await freePort();
  const grpc = createGrpcServer({ host: "127.0.0.1", port, drainMs: 500 }, lifecycle);
  const implementation = { getUsage: () => Promise.resolve({ used: 7 }) };
  const guard = createCallGuard(tokens, createRpcServerHistogram(createRegistry("test")), log);
  grpc.serve(QuotaService, implementation as unknown as ServiceImplementation<typeof QuotaService>, guard);
  await grpc.listen();
  return (internalTokens: Tokens, isMultiplexed: boolean) => {
    const options = { target: `127.0.0.1:${port}`, internalTokens, isMultiplexed };
    const client = connectPeer(QuotaService, options, lifecycle);
    return () => client.getUsage({ workspaceId: "ws_1" }, { timeoutMs: 5_000 });
  };
}

describe.each([
  ["multiplexed", true],
  ["plain", false],
])("the internal token of %s calls", (_, isMultiplexed) => {
  it("rotates without a failed call, whichever side reloads its file first", async () => {
    const server = open(await write("server", "old"));
    const client = open(await write("client", "old"));
    const connect = await startServer(server);
    const call = connect(client, isMultiplexed);
    for (const list of [["old", "new"], ["new", "old"], ["new"]]) {
      // The client reads the second step before the server does.
      const names = list[0] === "new" && list.length === 2 ? ["client", "server"] : ["server", "client"];
      for (const name of names) {
        await write(name, ...list);
        const tokens = name === "server" ? server : client;
        await expect
          .poll(() => [tokens.authorization(), tokens.accepts("Bearer old")])
          .toEqual([`Bearer ${list[0]}`, list.includes("old")]);
        // Longer than a multiplexed stream lives, because its calls keep the token with which it was opened.
        const endMs = performance.now() + 700;
        while (performance.now() < endMs) expect(await call()).toMatchObject({ used: 7 });
      }
    }
    const rejected = connect(open(await write("third", "old")), isMultiplexed);
    await expect(rejected()).rejects.toMatchObject({ code: "unauthenticated" });
  }, 60_000);
});

it("the admin services accept every token of the file", async () => {
  const file = await write("admin", "old", "new");
  const port = await freePort();
  const register = (router: ConnectRouter) => void router.service(QuotaService, { getUsage: () => ({ used: 7 }) });
  const admin = { tokens: open(file), jwt: undefined, register };
  const options = { host: "127.0.0.1", port, registry: createRegistry("test"), isReady: () => true, admin };
  await startOpsServer(options, log, lifecycle);
  const statusWith = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const url = `http://127.0.0.1:${port}/${QuotaService.typeName}/GetUsage`;
    return (await fetch(url, { method: "POST", headers, body: "{}" })).status;
  };
  expect([await statusWith("old"), await statusWith("new"), await statusWith("other")]).toEqual([200, 200, 401]);
});

it("a file without a token is logged and counted, and the previous tokens stay in use", async () => {
  const warnings: unknown[] = [];
  const file = await write("tokens", "old");
  const recorder = { info: () => undefined, warn: (fields: unknown) => void warnings.push(fields) };
  const registry = createRegistry("test");
  const reloadRefusals = createReloadRefusalCounter(registry);
  const tokens = openTokens(sourceOf(file), {
    log: recorder,
    lifecycle,
    reloadRefusals,
    refreshIntervalMs: REFRESH_MS,
  });
  const series = 'parley_reloads_refused_total{file="tokens",service="test"}';
  expect(await registry.metrics()).toContain(`${series} 0`);
  await write("tokens", " \n");
  await expect.poll(() => warnings).not.toEqual([]);
  expect(await registry.metrics()).toMatch(new RegExp(`^${series} [1-9]`, "m"));
  expect(tokens.authorization()).toBe("Bearer old");
  expect(() => open(file)).toThrow("contains no token");
});
