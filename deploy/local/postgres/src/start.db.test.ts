import { once } from "node:events";
import { appendFile, stat } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { resolveInstallation } from "./installation.ts";
import { removeLocalPostgres } from "./remove.ts";
import { isRoot, query, useLocalPostgres } from "./testing/local-postgres.ts";

const local = useLocalPostgres();
const { useSuiteDataDir, start, startInChildProcess } = local;

describe("a server", () => {
  useSuiteDataDir();

  it("listens on 127.0.0.1 only, and accepts the superuser only with its password", async () => {
    const server = await start();
    expect(await query(server.url, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")).toEqual([
      { rolsuper: true },
    ]);
    expect(await query(server.url, "SHOW listen_addresses")).toEqual([{ listen_addresses: "127.0.0.1" }]);
    expect(await query(server.url, "SELECT rolpassword FROM pg_authid WHERE rolname = 'postgres'")).toEqual([
      { rolpassword: expect.stringMatching(/^SCRAM-SHA-256\$/) },
    ]);
    const wrong = new URL(server.url);
    wrong.password = "guess";
    await expect(query(wrong.href, "SELECT 1")).rejects.toThrow("password authentication failed");
  });

  it("is durable unless the option `fast` is set", async () => {
    const server = await start({ fast: false });
    const settings = "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'max_connections') ORDER BY name";
    expect(await query(server.url, settings)).toEqual([
      { name: "fsync", setting: "on" },
      { name: "max_connections", setting: "100" },
    ]);
    await server.stop();
    // start() sets `fast` by default.
    expect(await query((await start()).url, settings)).toEqual([
      { name: "fsync", setting: "off" },
      { name: "max_connections", setting: "300" },
    ]);
  });

  it("converts letters outside ASCII to lower case, as full-text search needs", async () => {
    const { url } = await start();
    expect(await query(url, "SELECT lower('GRÜSSE ÉTÉ ПРИВЕТ') AS folded")).toEqual([{ folded: "grüsse été привет" }]);
  });

  it("stops while a client is connected, and has its data at the next start", async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE kept AS SELECT 42 AS n");
    const client = new Client({ connectionString: first.url });
    client.on("error", () => undefined);
    await client.connect();
    await first.stop();
    await expect(query(first.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    const second = await start();
    expect(second.isReused).toBe(false);
    expect(await query(second.url, "SELECT n FROM kept")).toEqual([{ n: 42 }]);
  });

  it("has a data directory that only its unprivileged owner can access", async () => {
    const server = await start();
    const { uid, mode } = await stat(server.dataDir);
    expect(uid).not.toBe(0);
    expect(mode & 0o077).toBe(0);
    expect(server.dataDir.startsWith(isRoot ? "/var/lib/parley/" : local.dir)).toBe(true);
  });
});

describe("a server that is already running", () => {
  useSuiteDataDir();

  it("survives Ctrl-C in the terminal of the process that started it, and is reused by a start with another port", async () => {
    const previous = await startInChildProcess();
    await previous.killStarter("SIGINT");
    const server = await start({ port: local.port + 1 });
    expect(server).toMatchObject({ isReused: true, pid: previous.pid, url: previous.url, port: local.port });
    await server.stop();
    await expect(query(server.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  it("is neither reused nor stopped by a start with another password", async () => {
    const server = await start();
    await expect(start({ password: "other" })).rejects.toThrow(expect.objectContaining({ code: "password_rejected" }));
    expect(await query(server.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  });

  it("is stopped by removeLocalPostgres, even if the process that started it was killed", async () => {
    const previous = await startInChildProcess();
    await previous.killStarter("SIGKILL");
    const installation = await resolveInstallation(local);
    await removeLocalPostgres(local);
    await expect(query(previous.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await expect(stat(installation.dataDir)).rejects.toThrow("ENOENT");
  });
});

// The first test requires that no data directory exists yet. The last test damages the data directory.
describe("a start that fails", () => {
  useSuiteDataDir();

  it("names the port in use, and creates no data directory", async () => {
    const other = await listenOnFreePort();
    const taken = (other.address() as AddressInfo).port;
    await expect(start({ port: taken })).rejects.toThrow(
      expect.objectContaining({ code: "port_taken", message: expect.stringContaining(String(taken)) }),
    );
    await expect(stat((await resolveInstallation(local)).dataDir)).rejects.toThrow("ENOENT");
    other.close();
  });

  it("reports a wrong password for existing data, and leaves no server running", async () => {
    await (await start()).stop();
    await expect(start({ password: "other" })).rejects.toThrow(expect.objectContaining({ code: "password_rejected" }));
    expect((await start()).isReused).toBe(false);
  });

  it("reports the server's own reason and the path of its log", async () => {
    const server = await start();
    await server.stop();
    await appendFile(join(server.dataDir, "postgresql.conf"), "no_such_setting = 1\n");
    await expect(start()).rejects.toThrow(
      expect.objectContaining({
        code: "start_failed",
        message: expect.stringMatching(/contains errors; .*postgres\.log$/),
      }),
    );
  });
});

async function listenOnFreePort(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
