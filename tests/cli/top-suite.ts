import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "@parley/test-support";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { chat, postChat, readChat } from "../system/chat.ts";
import { runCliInChildProcess, runCliInProcess, runCliJson } from "../system/cli.ts";
import { createTenant, type System, type Tenant } from "../system/system.ts";
import { hasTerminal } from "../system/terminal.ts";
import { CLEAR_SCREEN, openTop, prepareTop, RED_TEXT, RESTORE_SCREEN, splitRefreshes } from "./top.ts";

type Activity = {
  replicas: { service: string; url: string; up: boolean }[];
  streams_open: number;
  tokens_per_second: number;
  first_token: { p50_ms: number; p99_ms: number };
  own_first_token: { p50_ms: number; p99_ms: number };
  provider_first_token: { provider: string; p50_ms: number }[];
  refusals: { reason: string; per_minute: number; total: number }[];
  quota: { id: string; used: number; held: number; cap: number }[];
  breakers: { provider: string; state: string }[];
  outbox: { depth: number };
  problems: string[];
};

/** Defines the tests of `parley top`. Other tests may have used the system before, but must not have exhausted a quota. */
export function defineTopTests(shared: () => { system: System; env: Record<string, string> }): void {
  let system: System;
  let env: Record<string, string>;
  let exhaustedTenant: Tenant;

  beforeAll(async () => {
    ({ system } = shared());
    ({ env, exhaustedTenant } = await prepareTop(shared()));
  });

  it("prints one snapshot as JSON", async () => {
    const slow = await createTenant(system.admin, { model: "openai:tokens-1000-every-20" });
    const visitor = new AbortController();
    const stream = readChat(await postChat(system.url(), slow, {}, { signal: visitor.signal })).catch(() => undefined);
    const activity = await runCliJson<Activity>(["top"], env);
    visitor.abort();
    await stream;
    expect(activity.streams_open).toBeGreaterThanOrEqual(1);
    expect(activity.replicas.map(({ service, up }) => [service, up])).toEqual([
      ["edge", true],
      ["conversation", true],
      ["quota", true],
      ["llm-proxy", true],
    ]);
    expect(activity.first_token.p50_ms).toBeGreaterThan(0);
    expect(activity.first_token.p99_ms).toBeGreaterThanOrEqual(activity.first_token.p50_ms);
    expect(activity.own_first_token.p50_ms).toBeGreaterThan(0);
    expect(activity.own_first_token.p50_ms).toBeLessThanOrEqual(activity.first_token.p50_ms);
    expect(activity.provider_first_token).toContainEqual(
      expect.objectContaining({ provider: "openai", p50_ms: expect.any(Number) }),
    );
    expect(activity.refusals).toContainEqual({ reason: "quota_exceeded", per_minute: expect.any(Number), total: 1 });
    expect(activity.quota[0]).toMatchObject({ id: exhaustedTenant.workspaceId, used: 2, held: 0, cap: 2 });
    expect(activity.breakers).toContainEqual({ provider: "openai", state: "closed" });
    expect(activity.outbox.depth).toBeGreaterThanOrEqual(0);
    expect(activity.problems).toEqual([]);
  });

  it("shows the tokens per second of replies that have ended", async () => {
    const tenant = await createTenant(system.admin);
    let isWatching = true;
    const sendMessages = async () => {
      // 40 turns stay below an address's rate limit of 60 a minute.
      for (let turn = 0; turn < 40 && isWatching; turn++) {
        await chat(system.url(), tenant);
        await sleep(250);
      }
    };
    const sending = sendMessages();
    const readTokensPerSecond = async () => (await runCliJson<Activity>(["top"], env)).tokens_per_second;
    await expect.poll(readTokensPerSecond, { timeout: 30_000 }).toBeGreaterThan(0);
    isWatching = false;
    await sending;
  });

  it("prints one snapshot without control characters when there is no terminal", async () => {
    const { code, stdout } = await runCliInChildProcess(["top"], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^streams open {2}\d/);
    expect(stdout).toMatch(/^ {2}Parley +p50 [\d,.]+ ms, p99 [\d,.]+ ms$/m);
    expect(stdout).toMatch(/^ {2}provider +.*openai p50 [\d,.]+ ms, p99 [\d,.]+ ms/m);
    expect(stdout).toMatch(/^replicas +edge 1 of 1, conversation 1 of 1, quota 1 of 1, llm-proxy 1 of 1$/m);
    expect(stdout).toMatch(new RegExp(`^${exhaustedTenant.workspaceId} .* 2 +0 +2 +100 %$`, "m"));
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("shows how many replicas are reachable and whether quota usage is available, and exits 1 if no replica is reachable", async () => {
    const deadUrl = `http://127.0.0.1:${await freePort()}`;
    const quotaUrls = `http://127.0.0.1:${system.quota.opsPort},${deadUrl}`;
    const partial = await runCliInProcess(["top", "--once", "--quota", quotaUrls], env);
    expect(partial.stdout).toContain("quota 1 of 2");
    expect(partial.stdout).toContain(`! quota at ${deadUrl} is unreachable`);
    const withoutQuota = await runCliInProcess(["top", "--once"], { ...env, PARLEY_QUOTA_URL: deadUrl });
    expect([withoutQuota.code, withoutQuota.stderr]).toEqual([0, ""]);
    expect(withoutQuota.stdout).toContain("Quota usage is unavailable.");
    const allDead = ["edge", "conversation", "quota", "llm"].flatMap((service) => [`--${service}`, deadUrl]);
    expect((await runCliInProcess(["top", "--once", ...allDead], env)).code).toBe(1);
  });

  describe.skipIf(!hasTerminal)("in a terminal", () => {
    it("refreshes without clearing the screen, and restores the terminal on q", async () => {
      const top = openTop(env);
      await top.waitFor("streams open", 30_000);
      await vi.waitFor(() => expect(splitRefreshes(top.screen()).length).toBeGreaterThan(2), 20_000);
      expect(top.screen()).toContain("NEAREST TO THE CAP");
      top.type("q");
      expect(await top.exited).toBe(0);
      expect(top.screen().endsWith(RESTORE_SCREEN)).toBe(true);
      expect(top.screen()).not.toContain(CLEAR_SCREEN);
      expect(top.screen()).toContain(RED_TEXT);
    });
  });
}
