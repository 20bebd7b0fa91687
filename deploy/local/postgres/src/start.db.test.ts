import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, chown, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unprivilegedOwner } from "./owner.ts";
import { findPlace } from "./place.ts";
import { removeLocalPostgres } from "./remove.ts";
import { type LocalPostgres, startLocalPostgres } from "./start.ts";

const password = "p@ss/word";
const isRoot = process.getuid?.() === 0;

let dir: string;
let dataDir: string;
let port: number;
const running: LocalPostgres[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-local-postgres-"));
  dataDir = join(dir, "data");
  const server = await listenAnywhere();
  ({ port } = server.address() as AddressInfo);
  await once(server.close(), "close");
});

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop();
  await removeLocalPostgres(dataDir);
  await rm(dir, { recursive: true });
});

async function start(options: { port?: number; password?: string; fast?: boolean } = {}): Promise<LocalPostgres> {
  const server = await startLocalPostgres({ dataDir, port, password, fast: true, ...options });
  running.push(server);
  return server;
}

async function listenAnywhere(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Another process that starts the server; `group` is its process group. */
async function startElsewhere(extra: { uid?: number; gid?: number } = {}) {
  const script = fileURLToPath(new URL("starter.fixture.ts", import.meta.url));
  const child = spawn(
    process.execPath,
    ["--experimental-strip-types", script, JSON.stringify({ dataDir, port, password, ...extra })],
    { detached: true, stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const kill = async (signal: NodeJS.Signals) => {
    process.kill(-(child.pid ?? 0), signal);
    await exited;
  };
  return { ...(JSON.parse(line.toString()) as { url: string; pid: number }), kill };
}

describe("a server", () => {
  it("answers the superuser with its password, on 127.0.0.1 alone, and nobody without", async () => {
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

  it("is durable unless it is told to be fast", async () => {
    const server = await start({ fast: false });
    const settings = "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'max_connections') ORDER BY name";
    expect(await query(server.url, settings)).toEqual([
      { name: "fsync", setting: "on" },
      { name: "max_connections", setting: "100" },
    ]);
    await server.stop();
    expect(await query((await start()).url, settings)).toEqual([
      { name: "fsync", setting: "off" },
      { name: "max_connections", setting: "300" },
    ]);
  });

  it("folds the case of every script, for full-text search, whatever the machine's locale", async () => {
    const { url } = await start();
    expect(await query(url, "SELECT lower('GRÜSSE ÉTÉ ПРИВЕТ') AS folded")).toEqual([{ folded: "grüsse été привет" }]);
  });

  it("ends when it is stopped, though somebody is connected, and finds its data at the next start", async () => {
    const first = await start();
    await query(first.url, "CREATE TABLE kept AS SELECT 42 AS n");
    const client = new Client({ connectionString: first.url });
    client.on("error", () => undefined);
    await client.connect();
    await first.stop();
    await expect(query(first.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    const second = await start();
    expect(second.reused).toBe(false);
    expect(await query(second.url, "SELECT n FROM kept")).toEqual([{ n: 42 }]);
  });

  it("is owned by an unprivileged user and tells where its data is", async () => {
    const server = await start();
    const { uid, mode } = await stat(server.dataDir);
    expect(uid).not.toBe(0);
    expect(mode & 0o077).toBe(0);
    expect(server.dataDir.startsWith(isRoot ? "/var/lib/parley/" : dir)).toBe(true);
  });
});

describe("a server that outlived its starter", () => {
  it("survives the signals of the starter's terminal and is reused, on its own port", async () => {
    const outlived = await startElsewhere();
    await outlived.kill("SIGINT");
    const server = await start({ port: port + 1 });
    expect(server).toMatchObject({ reused: true, pid: outlived.pid, url: outlived.url, port });
    await server.stop();
    await expect(query(server.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
  });

  it("is refused with another password, and left alone", async () => {
    const server = await start();
    await expect(start({ password: "other" })).rejects.toThrow(expect.objectContaining({ code: "password_rejected" }));
    expect(await query(server.url, "SELECT 1 AS n")).toEqual([{ n: 1 }]);
  });

  it("is ended when its data is removed", async () => {
    const outlived = await startElsewhere();
    await outlived.kill("SIGKILL");
    const place = await findPlace(dataDir);
    await removeLocalPostgres(dataDir);
    await expect(query(outlived.url, "SELECT 1")).rejects.toThrow("ECONNREFUSED");
    await expect(stat(place.dataDir)).rejects.toThrow("ENOENT");
  });
});

describe("a server that was killed", () => {
  it("recovers at the next start, at once", async () => {
    const killed = await start({ fast: false });
    await query(killed.url, "CREATE TABLE kept AS SELECT 42 AS n");
    process.kill(killed.pid, "SIGKILL");
    const server = await start();
    expect(server.reused).toBe(false);
    expect(await query(server.url, "SELECT n FROM kept")).toEqual([{ n: 42 }]);
  });

  it("is not taken for the program that has its number now", async () => {
    const first = await start();
    const lockFile = join(first.dataDir, "postmaster.pid");
    const lock = await readFile(lockFile, "utf8");
    await first.stop();
    const stranger = spawn("sleep", ["60"], isRoot ? await unprivilegedOwner() : {});
    try {
      await writeFile(lockFile, lock.replace(String(first.pid), String(stranger.pid)));
      const { uid, gid } = await stat(first.dataDir);
      await chown(lockFile, uid, gid);
      expect((await start()).reused).toBe(false);
      expect(stranger.signalCode).toBeNull();
    } finally {
      stranger.kill();
    }
  });
});

describe("a start that cannot be", () => {
  it("names a taken port before it writes anything", async () => {
    const other = await listenAnywhere();
    const taken = (other.address() as AddressInfo).port;
    await expect(start({ port: taken })).rejects.toThrow(
      expect.objectContaining({ code: "port_taken", message: expect.stringContaining(String(taken)) }),
    );
    await expect(stat((await findPlace(dataDir)).dataDir)).rejects.toThrow("ENOENT");
    other.close();
  });

  it("names a password that is not the data's, and leaves no server running", async () => {
    await (await start()).stop();
    await expect(start({ password: "other" })).rejects.toThrow(expect.objectContaining({ code: "password_rejected" }));
    expect((await start()).reused).toBe(false);
  });

  it("gives the server's own reason and where to read more", async () => {
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

describe.runIf(isRoot)("beside root", () => {
  it("an ordinary user's server runs on a data directory of that user's, and root's start goes on with it", async () => {
    const owner = await unprivilegedOwner();
    await chown(dir, owner.uid, owner.gid);
    const theirs = await startElsewhere(owner);
    await theirs.kill("SIGKILL");
    expect((await stat(join(dataDir, "PG_VERSION"))).uid).toBe(owner.uid);
    expect(await start()).toMatchObject({ dataDir, reused: false });
  });
});
