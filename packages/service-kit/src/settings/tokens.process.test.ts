import type { ConnectRouter } from "@connectrpc/connect";
import { NIL_UUID } from "@parley/rpc/formats";
import { QuotaService } from "@parley/rpc/quota";
import { freePort } from "@parley/test-support";
import { expect, it } from "vitest";
import { createRegistry, createReloadRefusalCounter } from "../ops/metrics.ts";
import { startOpsServer } from "../ops/ops-server.ts";
import { createLogger } from "../process/logger.ts";
import { REFRESH_MS, tokenSource, useTokenFiles } from "../testing/token-files.ts";
import { openTokens } from "./tokens.ts";

const log = createLogger("test", "silent");
const files = useTokenFiles();
const { write, open, openInternal } = files;

it("the admin services accept every token in the token file", async () => {
  const file = await write("admin", "old", "new");
  const port = await freePort();
  const register = (router: ConnectRouter) => void router.service(QuotaService, { reserve: () => ({ used: 7 }) });
  const admin = { tokens: open(file), jwt: undefined, register };
  const options = { host: "127.0.0.1", port, registry: createRegistry("test"), isReady: () => true, admin };
  await startOpsServer(options, log, files.lifecycle);
  const statusWith = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const url = `http://127.0.0.1:${port}/${QuotaService.typeName}/Reserve`;
    return (await fetch(url, { method: "POST", headers, body: JSON.stringify({ turnId: NIL_UUID }) })).status;
  };
  expect([await statusWith("old"), await statusWith("new"), await statusWith("other")]).toEqual([200, 200, 401]);
});

it("opening a file without a token throws; reloading such a file logs and counts the refusal, and keeps the previous tokens", async () => {
  const warnings: unknown[] = [];
  const file = await write("tokens", "old");
  const recorder = { info: () => undefined, warn: (fields: unknown) => void warnings.push(fields) };
  const registry = createRegistry("test");
  const reloadRefusals = createReloadRefusalCounter(registry);
  const tokens = openTokens(tokenSource(file), {
    log: recorder,
    lifecycle: files.lifecycle,
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

it("after a replacement in one step, sends the previous internal token until others accept the new one, and accepts it for twice as long", async () => {
  const HANDOVER_MS = 1_000;
  const tokens = openInternal(await write("internal", "old"), HANDOVER_MS);
  await write("internal", "new");
  const state = () => [tokens.authorization(), tokens.accepts("Bearer old"), tokens.accepts("Bearer new")];
  await expect.poll(state).toEqual(["Bearer old", true, true]);
  await expect.poll(state, { timeout: 2 * HANDOVER_MS }).toEqual(["Bearer new", true, true]);
  await expect.poll(state, { timeout: 3 * HANDOVER_MS }).toEqual(["Bearer new", false, true]);
});

it("follows a rotation in steps at once: a removed internal token is accepted no longer", async () => {
  const tokens = openInternal(await write("internal", "new", "old"), 60_000);
  await write("internal", "new");
  await expect.poll(() => tokens.accepts("Bearer old")).toBe(false);
  expect(tokens.authorization()).toBe("Bearer new");
});
