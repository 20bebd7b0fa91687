import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { createDatabase, queryRows } from "@parley/test-support";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { openTop, prepareTop, RED_TEXT, RESTORE_SCREEN, splitRefreshes, TOP_COMMAND } from "./cli/top.ts";
import { cliEnv, runCliInChildProcess, runCliJson } from "./system/cli.ts";
import { type System, startSystem, type Tenant } from "./system/system.ts";
import { CTRL_C, hasTerminal } from "./system/terminal.ts";

// A command takes seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let system: System;
let env: Record<string, string>;
let exhaustedTenant: Tenant;

beforeAll(async () => {
  system = await startSystem();
  ({ env, exhaustedTenant } = await prepareTop({ system, env: cliEnv(system) }));
});

afterAll(() => system?.stop());

describe("parley top", () => {
  it("reads a replica's metrics over TLS at an IP address that the replica's certificate contains", async () => {
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
    const top = await runCliInChildProcess(["top", "--once", "--edge", urls], {
      ...env,
      NODE_EXTRA_CA_CERTS: authority,
    });
    expect(top.stdout).toMatch(/^replicas +edge 2 of 2/m);
    expect(top.stderr).toBe("");
  });

  describe.skipIf(!hasTerminal)("in a terminal", () => {
    it("restores the terminal on Ctrl-C, and uses no colour with NO_COLOR", async () => {
      const top = openTop({ ...env, NO_COLOR: "1" });
      await top.waitFor(exhaustedTenant.workspaceId, 30_000);
      top.type(CTRL_C);
      expect(await top.exited).toBe(0);
      expect(top.screen().endsWith(RESTORE_SCREEN)).toBe(true);
      expect(top.screen()).not.toContain(RED_TEXT);
    });

    it("fits the screen to the terminal after the terminal has shrunk", async () => {
      const directory = await mkdtemp(join(tmpdir(), "parley-top-"));
      onTestFinished(() => rm(directory, { recursive: true }));
      const resizeSignal = join(directory, "resize");
      // Shrinks the terminal as soon as the file exists.
      const resize = `(until [ -e ${resizeSignal} ]; do sleep 0.1; done; stty rows 8 cols 40 </dev/tty)`;
      const top = openTop(env, `sh -c 'stty rows 30 cols 90; ${resize} & exec ${TOP_COMMAND}'`);
      /** Returns the size of the last refresh. The terminal outputs CR LF for each line feed. */
      const size = () => {
        const lines = (splitRefreshes(top.screen()).at(-1) ?? "").split(/\r*\n/).map(stripVTControlCharacters);
        return { columns: Math.max(...lines.map((line) => line.length)), rows: lines.length };
      };
      await top.waitFor("streams open", 30_000);
      // The first refresh may arrive in parts.
      await vi.waitFor(() => {
        expect(size().rows).toBeGreaterThan(8);
        expect(size().columns).toBeGreaterThan(40);
      }, 20_000);
      await writeFile(resizeSignal, "");
      await vi.waitFor(() => {
        expect(size().rows).toBe(8);
        expect(size().columns).toBeLessThanOrEqual(40);
      }, 20_000);
      top.type("q");
      expect(await top.exited).toBe(0);
    });
  });
});

describe("parley migrate", () => {
  it("reports the newest migration of a schema that a newer version of Parley has migrated", async () => {
    const database = await createDatabase(undefined, { template: inject("migratedDatabase") });
    await queryRows(
      database.url,
      "INSERT INTO quota.migrations (name, batch, migration_time) VALUES ('9999_more', 99, now())",
    );
    expect(await runCliJson(["migrate", "quota"], { ...env, DATABASE_URL: database.url })).toEqual([
      { service: "quota", applied: [], newer_migration: "9999_more" },
    ]);
    await database.drop();
  });
});
