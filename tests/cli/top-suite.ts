import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import { freePort, nodeFlags } from "@parley/test-support";
import { generate } from "selfsigned";
import { afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { chat, postChat, readChat } from "../system/chat.ts";
import { runCliInProcess, runCliJson, runCliProcess } from "../system/cli.ts";
import { createPlan, waitUntilSettled } from "../system/database.ts";
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
/** Shows the cursor and leaves the alternate screen. */
const RESTORE_SCREEN = `${ESCAPE}[?25h${ESCAPE}[?1049l`;
const CLEAR_SCREEN = `${ESCAPE}[2J`;
const RED_TEXT = `${ESCAPE}[31m`;
/** Starts a synchronized update, with which `parley top` starts each refresh. */
const START_UPDATE = `${ESCAPE}[?2026h`;

/** Defines the tests of `parley top`. They run on a system that other tests have used before. */
export function defineTopTests(shared: () => { system: System; env: Record<string, string> }): void {
  let system: System;
  let env: Record<string, string>;
  let exhaustedTenant: Tenant;

  beforeAll(async () => {
    ({ system } = shared());
    env = { ...shared().env, PARLEY_EDGE_URL: `http://127.0.0.1:${system.edges[0]?.opsPort}` };
    await createPlan(system.database, "cap-2", 2);
    exhaustedTenant = await createTenant(system.admin, { plan: "cap-2" });
    for (let turn = 0; turn < 3; turn++) await chat(system.url(), exhaustedTenant);
    // The tests compare the tenant's usage and holds.
    await waitUntilSettled(system.database, 10_000);
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
    expect(activity.refusals).toContainEqual({ reason: "quota_exceeded", per_minute: expect.any(Number), total: 1 });
    expect(activity.quota[0]).toMatchObject({ id: exhaustedTenant.workspaceId, used: 2, held: 0, cap: 2 });
    expect(activity.breakers).toContainEqual({ provider: "openai", state: "closed" });
    expect(activity.outbox.depth).toBeGreaterThanOrEqual(0);
    expect(activity.problems).toEqual([]);
  });

  it("shows the tokens per second of replies that have ended", async () => {
    const tenant = await createTenant(system.admin);
    let isShown = false;
    const sendMessages = async () => {
      // 40 turns stay below an address's rate limit of 60 a minute.
      for (let turn = 0; turn < 40 && !isShown; turn++) {
        await chat(system.url(), tenant);
        await sleep(250);
      }
    };
    const watch = async () => {
      while (!isShown) isShown = (await runCliJson<Activity>(["top"], env)).tokens_per_second > 0;
    };
    await Promise.all([sendMessages(), watch()]);
  });

  it("prints one snapshot without control characters when there is no terminal", async () => {
    const { code, stdout } = await runCliProcess(["top"], env);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^streams open {2}\d/);
    expect(stdout).toMatch(/^replicas +edge 1 of 1, conversation 1 of 1, quota 1 of 1, llm-proxy 1 of 1$/m);
    expect(stdout).toMatch(new RegExp(`^${exhaustedTenant.workspaceId} .* 2 +0 +2 +100 %$`, "m"));
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("counts an unreachable replica and shows that quota usage is unavailable", async () => {
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

  it("reads a replica with TLS at an address, by the certificate's address", async () => {
    const directory = await mkdtemp(join(tmpdir(), "parley-top-"));
    onTestFinished(() => rm(directory, { recursive: true }));
    const altNames = ["::1", "127.0.0.1"].map((ip) => ({ type: 7 as const, ip }));
    const certificate = await generate([{ name: "commonName", value: "replica" }], {
      keyType: "ec",
      algorithm: "sha256",
      extensions: [{ name: "subjectAltName", altNames }],
    });
    const authority = join(directory, "authority.crt");
    await writeFile(authority, certificate.cert);
    const server = createServer({ key: certificate.private, cert: certificate.cert }, (_, response) => response.end());
    onTestFinished(() => void server.close());
    await once(server.listen(0, "::"), "listening");
    const { port } = server.address() as AddressInfo;
    const urls = ["[::1]", "127.0.0.1"].map((host) => `https://${host}:${port}`).join();
    const top = await runCliProcess(["top", "--once", "--edge", urls], { ...env, NODE_EXTRA_CA_CERTS: authority });
    expect(top.stdout).toMatch(/^replicas +edge 2 of 2/m);
    expect(top.stderr).toBe("");
  });

  describe.skipIf(!hasTerminal)("in a terminal", () => {
    let terminal: Terminal | undefined;
    afterEach(() => terminal?.kill());

    const COMMAND = [process.execPath, ...nodeFlags, `${root}packages/cli/src/main.ts`, "top"].join(" ");
    const openTop = (command: string, more: Record<string, string> = {}) => {
      // An empty NO_COLOR has no effect. The variable may be set where the tests run.
      terminal = openTerminal(command, { ...env, TERM: "xterm-256color", NO_COLOR: "", ...more });
      return terminal;
    };
    /** Returns the output of each refresh. */
    const splitFrames = (screen: string) => screen.split(START_UPDATE).slice(1);

    it("refreshes without clearing the screen, and restores the terminal on q", async () => {
      const top = openTop(COMMAND);
      await top.waitFor("streams open", 30_000);
      await vi.waitFor(() => expect(splitFrames(top.screen()).length).toBeGreaterThan(2), 20_000);
      expect(top.screen()).toContain("NEAREST TO THE CAP");
      top.type("q");
      expect(await top.exited).toBe(0);
      expect(top.screen().endsWith(RESTORE_SCREEN)).toBe(true);
      expect(top.screen()).not.toContain(CLEAR_SCREEN);
      expect(top.screen()).toContain(RED_TEXT);
    });

    it("restores the terminal on Ctrl-C, and uses no colour with NO_COLOR", async () => {
      const top = openTop(COMMAND, { NO_COLOR: "1" });
      await top.waitFor(exhaustedTenant.workspaceId, 30_000);
      top.type(CTRL_C);
      expect(await top.exited).toBe(0);
      expect(top.screen().endsWith(RESTORE_SCREEN)).toBe(true);
      expect(top.screen()).not.toContain(RED_TEXT);
    });

    it("adapts to a smaller terminal", async () => {
      const directory = await mkdtemp(join(tmpdir(), "parley-top-"));
      onTestFinished(() => rm(directory, { recursive: true }));
      const narrow = join(directory, "narrow");
      // Shrinks the terminal as soon as the file exists.
      const resize = `(until [ -e ${narrow} ]; do sleep 0.1; done; stty rows 8 cols 40 </dev/tty)`;
      const top = openTop(`sh -c 'stty rows 30 cols 90; ${resize} & exec ${COMMAND}'`);
      /** Returns the size of the last refresh. The terminal outputs CR LF for each line feed. */
      const size = () => {
        const lines = (splitFrames(top.screen()).at(-1) ?? "").split(/\r*\n/).map(stripVTControlCharacters);
        return { columns: Math.max(...lines.map((line) => line.length)), rows: lines.length };
      };
      await top.waitFor("streams open", 30_000);
      // The first refresh may arrive in parts.
      await vi.waitFor(() => {
        expect(size().rows).toBeGreaterThan(8);
        expect(size().columns).toBeGreaterThan(40);
      }, 20_000);
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
