import { existsSync } from "node:fs";
import { chmod, lstat, mkdtemp, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { queryRows as query } from "./database.ts";
import { startTestPostgres } from "./postgres.ts";
import { nodeFlags, startProcess } from "./process.ts";

async function readDataDir(url: string): Promise<string> {
  const [row] = await query(url, "SHOW data_directory");
  return (row as { data_directory: string }).data_directory;
}

/** Starts a process that runs `code` and then calls startTestPostgres. */
async function startServerInChildProcess(code = "") {
  const script = `
    import { startTestPostgres } from ${JSON.stringify(new URL("postgres.ts", import.meta.url).href)};
    ${code}
    console.log("url=" + (await startTestPostgres({ preferMemory: true })).url);
    setInterval(() => {}, 1000);`;
  const args = [...nodeFlags, "--input-type=module", "-e", script];
  const starter = await startProcess({ name: "run", command: process.execPath, args, ready: /url=(\S+)/ });
  const [, url = ""] = (await starter.waitReady()) ?? [];
  return { starter, url, dataDir: await readDataDir(url) };
}

describe("startTestPostgres", () => {
  it("restarts the server on the same port with the same data", async () => {
    const server = await startTestPostgres();
    await query(server.url, "CREATE TABLE kept AS SELECT 42 AS n");
    const startedAt = "SELECT pg_postmaster_start_time()::text AS at";
    const before = await query(server.url, startedAt);
    await server.restart();
    expect(await query(server.url, "SELECT n FROM kept")).toEqual([{ n: 42 }]);
    expect(await query(server.url, startedAt)).not.toEqual(before);
    await server.stop();
  });

  it("stops the server that a killed process left running, and removes its data", async () => {
    const killed = await startServerInChildProcess();
    await killed.starter.kill9();
    expect(existsSync(killed.dataDir)).toBe(true);
    const server = await startTestPostgres();
    expect(existsSync(killed.dataDir)).toBe(false);
    await expect(query(killed.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await server.stop();
  });

  it("does not follow a link that has the name of a killed process's directory", async () => {
    const privateDir = await mkdtemp(join(tmpdir(), "parley-private-"));
    await chmod(privateDir, 0o700);
    // Linux has no process with this id.
    const links = [tmpdir(), "/dev/shm"]
      .filter(existsSync)
      .map((dir) => join(dir, "parley-test-postgres-99999999-link"));
    onTestFinished(async () => {
      for (const path of [...links, privateDir]) await rm(path, { recursive: true, force: true });
    });
    for (const link of links) await symlink(privateDir, link);
    const server = await startTestPostgres({ preferMemory: true });
    await server.stop();
    expect((await stat(privateDir)).mode & 0o777).toBe(0o700);
    for (const link of links) expect((await lstat(link)).isSymbolicLink()).toBe(true);
  });

  it("stops the server and removes its data when the process exits", async () => {
    const { starter, url, dataDir } = await startServerInChildProcess("process.on('SIGTERM', () => process.exit());");
    await starter.stop();
    expect(existsSync(dataDir)).toBe(false);
    await expect(query(url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  it("removes the server's data on stop", async () => {
    const server = await startTestPostgres();
    const dataDir = await readDataDir(server.url);
    await server.stop();
    expect(existsSync(dataDir)).toBe(false);
    await expect(query(server.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });
});
