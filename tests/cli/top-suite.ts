import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { freePort, nodeFlags } from "@parley/test-support";
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createPlan } from "../system/database.ts";
import { chat, postChat, readChat } from "../system/chat.ts";
import { cliJson, runCli } from "../system/cli.ts";
import { root } from "../system/processes.ts";
import { createTenant, type System, type Tenant } from "../system/system.ts";
import { CTRL_C, hasTerminal, openTerminal, type Terminal } from "../system/terminal.ts";

type Activity = {
  replicas: { service: string; url: string; up: boolean }[];
  streams_open: number;
  tokens_per_second: number;
  first_token: { p50_ms: number; p99_ms: number };
  refusals: { reason: string; per_minute: number; total: number }[];
  quota: { id: string; used: number; held: number; cap: number }[];
  breakers: { provider: string; state: string }[];
  outbox: { depth: number };
  problems: string[];
};

const ESCAPE = "\u001b";
const LEFT = `${ESCAPE}[?25h${ESCAPE}[?1049l`;

/** Watches a system of which the tests before have made some use. */
export function topSuite(shared: () => { system: System; env: Record<string, string> }): void {
  let system: System;
  let env: Record<string, string>;
  let full: Tenant;

  beforeAll(async () => {
    ({ system } = shared());
    env = { ...shared().env, PARLEY_EDGE_URL: `http://127.0.0.1:${system.edges[0]?.opsPort}` };
    await createPlan(system.database, "cap-2", 2);
    full = await createTenant(system.admin, { plan: "cap-2" });
    for (let turn = 0; turn < 3; turn++) await chat(system.url(), full);
  });

  it("prints one snapshot as JSON", async () => {
    const slow = await createTenant(system.admin, { model: "openai:tokens-1000-every-20" });
    const leave = new AbortController();
    const stream = readChat(await postChat(system.url(), slow, {}, { signal: leave.signal })).catch(() => undefined);
    const activity = await cliJson<Activity>(["top"], env);
    leave.abort();
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
    expect(activity.refusals).toContainEqual({ reason: "quota_exceeded", per_minute: expect.any(Number), total: 1 });
    expect(activity.quota[0]).toMatchObject({ id: full.workspaceId, used: 2, held: 0, cap: 2 });
    expect(activity.breakers).toContainEqual({ provider: "openai", state: "closed" });
    expect(activity.outbox.depth).toBeGreaterThanOrEqual(0);
    expect(activity.problems).toEqual([]);
  });

  it("counts the tokens of replies as they end", async () => {
    const talker = await createTenant(system.admin);
    let isSeen = false;
    const talk = async () => {
      // Fewer than a minute allows of one address.
      for (let turn = 0; turn < 40 && !isSeen; turn++) {
        await chat(system.url(), talker);
        await sleep(250);
      }
    };
    const watch = async () => {
      while (!isSeen) isSeen = (await cliJson<Activity>(["top"], env)).tokens_per_second > 0;
    };
    await Promise.all([talk(), watch()]);
  });

  it("prints one snapshot where there is no terminal, without a single control character", async () => {
    const { code, stdout } = await runCli(["top"], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^streams open {2}\d/);
    expect(stdout).toMatch(/^replicas +edge 1 of 1, conversation 1 of 1, quota 1 of 1, llm-proxy 1 of 1$/m);
    expect(stdout).toMatch(new RegExp(`^${full.workspaceId} .* 2 +0 +2 +100 %$`, "m"));
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("counts an unreachable replica and shows that quota usage is unavailable", async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    const quotas = `http://127.0.0.1:${system.quota.opsPort},${away}`;
    const some = await runCli(["top", "--once", "--quota", quotas], env);
    expect(some.stdout).toContain("quota 1 of 2");
    expect(some.stdout).toContain(`! quota at ${away} is unreachable`);
    const gap = await runCli(["top", "--once"], { ...env, PARLEY_QUOTA_URL: away });
    expect([gap.code, gap.stderr]).toEqual([0, ""]);
    expect(gap.stdout).toContain("Quota usage is unavailable.");
    const all = ["edge", "conversation", "quota", "llm"].flatMap((service) => [`--${service}`, away]);
    expect((await runCli(["top", "--once", ...all], env)).code).toBe(1);
  });

  describe.skipIf(!hasTerminal)("in a terminal", () => {
    let terminal: Terminal | undefined;
    afterEach(() => terminal?.kill());

    const COMMAND = [process.execPath, ...nodeFlags, `${root}packages/cli/src/main.ts`, "top"].join(" ");
    const open = (command: string, more: Record<string, string> = {}) => {
      terminal = openTerminal(command, { ...env, TERM: "xterm-256color", ...more });
      return terminal;
    };
    /** What each refresh wrote. */
    const frames = (screen: string) => screen.split(`${ESCAPE}[?2026h`).slice(1);

    it("refreshes each second without clearing the screen, and q gives the terminal back", async () => {
      const top = open(COMMAND);
      await top.shows("streams open", 30_000);
      await vi.waitFor(() => expect(frames(top.screen()).length).toBeGreaterThan(2), 20_000);
      expect(top.screen()).toContain("nearest to the cap".toUpperCase());
      top.type("q");
      expect(await top.exited).toBe(0);
      expect(top.screen().endsWith(LEFT)).toBe(true);
      expect(top.screen()).not.toContain(`${ESCAPE}[2J`);
      expect(top.screen()).toContain(`${ESCAPE}[31m`);
    });

    it("ends by Ctrl-C as well, and shows everything without colour", async () => {
      const top = open(COMMAND, { NO_COLOR: "1" });
      await top.shows(full.workspaceId, 30_000);
      top.type(CTRL_C);
      expect(await top.exited).toBe(0);
      expect(top.screen().endsWith(LEFT)).toBe(true);
      expect(top.screen()).not.toContain(`${ESCAPE}[31m`);
    });

    it("follows the size of the terminal", async () => {
      const directory = await mkdtemp(join(tmpdir(), "parley-top-"));
      onTestFinished(() => rm(directory, { recursive: true }));
      const narrow = join(directory, "narrow");
      const resize = `(until [ -e ${narrow} ]; do sleep 0.1; done; stty rows 8 cols 40 </dev/tty)`;
      const top = open(`sh -c 'stty rows 30 cols 90; ${resize} & exec ${COMMAND}'`);
      /** Of the last refresh; the terminal turns each line feed into a return and a line feed. */
      const size = () => {
        const lines = (frames(top.screen()).at(-1) ?? "").split(/\r*\n/).map(stripVTControlCharacters);
        return { columns: Math.max(...lines.map((line) => line.length)), rows: lines.length };
      };
      await top.shows("streams open", 30_000);
      expect(size().rows).toBeGreaterThan(8);
      expect(size().columns).toBeGreaterThan(40);
      await writeFile(narrow, "");
      await vi.waitFor(() => {
        expect(size().rows).toBe(8);
        expect(size().columns).toBeLessThanOrEqual(40);
      }, 20_000);
      top.type("q");
      expect(await top.exited).toBe(0);
    });
  });
}
