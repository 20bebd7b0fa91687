import { spawn } from "node:child_process";
import { chown, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isRoot, query, useLocalPostgres } from "./testing/local-postgres.ts";
import { ensureUnprivilegedUser } from "./unprivileged-user.ts";

const local = useLocalPostgres();
const { useSuiteDataDir, start, startInChildProcess } = local;

describe("a server that was killed", () => {
  useSuiteDataDir();

  it("recovers at the next start", async () => {
    // With `fast`, commits are asynchronous, so the killed server could lose the table.
    const killed = await start({ fast: false });
    await query(killed.url, "CREATE TABLE kept AS SELECT 42 AS n");
    process.kill(killed.pid, "SIGKILL");
    const server = await start();
    expect(server.isReused).toBe(false);
    expect(await query(server.url, "SELECT n FROM kept")).toEqual([{ n: 42 }]);
  });

  it("starts again if another program now has its PID, and does not stop that program", async () => {
    const first = await start();
    const lockFile = join(first.dataDir, "postmaster.pid");
    const lock = await readFile(lockFile, "utf8");
    await first.stop();
    const otherProgram = spawn("sleep", ["60"], isRoot ? await ensureUnprivilegedUser() : {});
    try {
      // A killed server leaves its lock file.
      await writeFile(lockFile, lock.replace(String(first.pid), String(otherProgram.pid)));
      const { uid, gid } = await stat(first.dataDir);
      await chown(lockFile, uid, gid);
      expect((await start()).isReused).toBe(false);
      expect(otherProgram.signalCode).toBeNull();
    } finally {
      otherProgram.kill();
    }
  });
});

describe.runIf(isRoot)("a start by root", () => {
  useSuiteDataDir();

  it("uses the data directory that an ordinary user's start has created", async () => {
    const owner = await ensureUnprivilegedUser();
    await chown(local.dir, owner.uid, owner.gid);
    const ordinaryStart = await startInChildProcess(owner);
    await ordinaryStart.killStarter("SIGKILL");
    expect((await stat(join(local.dataDir, "PG_VERSION"))).uid).toBe(owner.uid);
    expect(await start()).toMatchObject({ dataDir: local.dataDir, isReused: false });
  });
});
