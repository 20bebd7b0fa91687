import { execFile } from "node:child_process";
import { once } from "node:events";
import { access, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createDatabase, type RunningProcess, startFakeProvider, startTestPostgres } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { readChat } from "./system/chat.ts";
import { cliJson, runCli } from "./system/cli.ts";
import { makePlace, type Place, publicKeyOf, start, startReady } from "./system/local-start.ts";
import { CTRL_C, hasTerminal, openTerminal } from "./system/terminal.ts";

const SECOND_START_MS = 5_000;

// A start takes seconds, and on a busy machine many.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

// The first start makes what the others find: each stops what it has started, and none needs what another left.
let place: Place;
beforeAll(async () => {
  place = await makePlace();
});
afterAll(() => place.remove());

const urlOf = ({ port }: Place) => `http://127.0.0.1:${port}`;

function ask(publicKey: string, sessionId: string, at = place) {
  const message = "What does Parley need PostgreSQL for?";
  return fetch(`${urlOf(at)}/api/chat/`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: `http://localhost:${at.port + 9}` },
    body: JSON.stringify({ public_key: publicKey, session_id: sessionId, message }),
  });
}

/** How many times longer things take because others have the processors too. */
function othersShare(): number {
  const [load = 0] = loadavg();
  return Math.max(1, load / availableParallelism());
}

/** Which of the ten ports somebody listens on. */
async function portsInUse({ port }: Place): Promise<number[]> {
  const ports = Array.from({ length: 10 }, (_, index) => port + index);
  const free = await Promise.all(ports.map(isFree));
  return ports.filter((_, index) => !free[index]);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen({ port, host: "127.0.0.1", exclusive: true });
  try {
    await once(server, "listening");
    await once(server.close(), "close");
    return true;
  } catch {
    return false;
  }
}

/** The process below a start whose command holds `text`. */
async function pidOf(text: string, { pid }: RunningProcess): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "ppid=,pid=,args="]);
  const [, found] =
    stdout
      .split("\n")
      .filter((line) => line.includes(text))
      .map((line) => line.trim().split(/\s+/))
      .find(([parentPid]) => parentPid === String(pid)) ?? [];
  if (found === undefined) throw new Error(`no process below the start runs ${text}`);
  return Number(found);
}

/** What a start that could not be said, and that it left nothing running. */
async function refused(parley: RunningProcess): Promise<string> {
  const { code } = await parley.exited;
  expect(code).toBe(1);
  const lines = parley.stderr().trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

describe("a first start", () => {
  it("brings up everything, answers from the documentation, stops cleanly, and finds it all the second time", async () => {
    const first = await startReady(place);
    const publicKey = publicKeyOf(first);
    const sessionId = crypto.randomUUID();
    const reply = await readChat(await ask(publicKey, sessionId));
    expect(reply.events[0]?.event).toBe("meta");
    expect(reply.text).toContain("PostgreSQL");
    expect(reply.done).toMatchObject({ finish_reason: "stop", model: "builtin:extractive" });

    const shop = await fetch(`http://127.0.0.1:${place.port + 9}/`);
    expect(await shop.text()).toContain(
      `src="http://localhost:${place.port}/widget.js" data-public-key="${publicKey}"`,
    );
    expect((await fetch(`${urlOf(place)}/widget.js`)).headers.get("content-type")).toContain("javascript");

    const { access_token, expires_in } = await cliJson<{ access_token: string; expires_in: number }>(
      ["token", "--workspace", "demo", "--ttl", "30m"],
      place.env,
    );
    expect(expires_in).toBe(1_800);
    const exported = await fetch(`${urlOf(place)}/api/conversations/${sessionId}/export.json`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(exported.status).toBe(200);

    expect(await first.stop("SIGINT", 30_000)).toEqual({ code: 0, signal: null });
    expect(await portsInUse(place)).toEqual([]);
    const { code, stderr } = await runCli(["usage", "--workspace", "demo"], place.env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^parley: Parley is not running in .*npx --yes pnpm@12 start/);

    const startedAt = performance.now();
    const second = await startReady(place);
    expect(performance.now() - startedAt).toBeLessThanOrEqual(SECOND_START_MS * othersShare());
    expect(publicKeyOf(second)).toBe(publicKey);
    expect(second.stdout()).toMatch(/demo\s+unchanged/);
    expect(await cliJson(["usage", "--workspace", "demo"], place.env)).toMatchObject({
      plan: "free",
      used: 1,
      held: 0,
    });
    expect(await second.stop("SIGTERM", 30_000)).toEqual({ code: 0, signal: null });
  });
});

describe("a running Parley", () => {
  let parley: RunningProcess;
  beforeAll(async () => {
    parley = await startReady(place);
  });
  afterAll(() => parley.stop("SIGINT", 30_000));

  async function answersAgain(): Promise<void> {
    await vi.waitFor(async () => {
      const reply = await readChat(await ask(publicKeyOf(parley), crypto.randomUUID()));
      expect(reply.done).toMatchObject({ finish_reason: "stop" });
    }, 30_000);
  }

  it("keeps what it makes to its own user", async () => {
    for (const file of ["secrets.json", "instance.json", "issuer-key.json"]) {
      expect((await stat(join(place.dataDir, file))).mode & 0o077, file).toBe(0);
    }
    const secrets = Object.values(JSON.parse(await readFile(join(place.dataDir, "secrets.json"), "utf8")) as object);
    const logs = join(place.dataDir, "logs");
    const names = await readdir(logs);
    // An earlier start's have a number before `.log`.
    expect(names.filter((name) => !/\.\d+\.log$/.test(name))).toHaveLength(5);
    const texts = await Promise.all(names.map((name) => readFile(join(logs, name), "utf8")));
    for (const secret of secrets) for (const text of [parley.output(), ...texts]) expect(text).not.toContain(secret);
  });

  it("refuses a second start on the same data with other ports", async () => {
    const elsewhere = await makePlace();
    const second = await start(elsewhere, { DATA_DIR: place.dataDir });
    expect(await refused(second)).toMatch(
      new RegExp(
        `^parley: Parley is already running on ${place.dataDir} as process ${parley.pid}, at http://localhost:${place.port}:`,
      ),
    );
    await elsewhere.remove();
  });

  it("restarts a killed database without a restart of the services", async () => {
    process.kill(await pidOf(`port=${place.port + 8}`, parley), "SIGKILL");
    await vi.waitFor(() => expect(parley.stdout()).toMatch(/database\s+restarted/), 60_000);
    await answersAgain();
    expect(parley.stdout()).not.toMatch(/(edge|conversation|quota|llm-proxy)\s+exited unexpectedly/);
  });

  it("starts a killed service again, and works without a restart of the others", async () => {
    for (const name of ["edge", "conversation", "quota", "llm-proxy"]) {
      process.kill(await pidOf(`services/${name}/src/main.ts`, parley), "SIGKILL");
      await vi.waitFor(() => expect(parley.stdout()).toMatch(new RegExp(`${name}\\s+restarted`)), 20_000);
    }
    await answersAgain();
  });
});

describe("the end of a Parley", () => {
  it("lets a reply that is under way come to its end before it stops", async () => {
    const provider = await startFakeProvider([{ everyMs: 150 }]);
    const parley = await startReady(place, { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "sk-of-the-tests" });
    const response = await ask(publicKeyOf(parley), crypto.randomUUID());
    parley.signal("SIGINT");
    const reply = await readChat(response);
    expect(reply.text).toContain("scripted provider");
    expect(reply.done).toMatchObject({ finish_reason: "stop" });
    expect(await parley.exited).toEqual({ code: 0, signal: null });
    await provider.close();
  });

  // The exit code is npm's word for Ctrl-C: whatever npx runs in its shell, it ends so.
  it.runIf(hasTerminal)("is a clean one when Ctrl-C is typed, through npx and pnpm", async () => {
    const terminal = openTerminal("npx --yes pnpm@12 start", place.env);
    onTestFinished(terminal.kill);
    await terminal.shows("Press Ctrl-C to stop", 120_000);
    terminal.type(CTRL_C);
    await terminal.shows("Stopped. The data is kept", 30_000);
    expect([0, 130]).toContain(await terminal.exited);
    expect(terminal.screen()).not.toMatch(/exited unexpectedly|killing/);
    expect(await portsInUse(place)).toEqual([]);
  });

  it("exits immediately on a second stop signal", async () => {
    const provider = await startFakeProvider([{ everyMs: 1_000 }]);
    const parley = await startReady(place, { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "sk-of-the-tests" });
    const response = await ask(publicKeyOf(parley), crypto.randomUUID());
    parley.signal("SIGINT");
    await vi.waitFor(() => expect(parley.stdout()).toContain("Press Ctrl-C again to exit immediately"));
    await vi.waitFor(() => {
      parley.signal("SIGINT");
      expect(parley.isRunning()).toBe(false);
    }, 3_000);
    expect(await parley.exited).toEqual({ code: 130, signal: null });
    await vi.waitFor(async () => expect(await portsInUse(place)).toEqual([]), 10_000);
    await response.body?.cancel().catch(() => undefined);
    await provider.close();
  });

  it("leaves no service behind when it is killed, and the next start makes what is missing and keeps the rest", async () => {
    const killed = await startReady(place);
    const publicKey = publicKeyOf(killed);
    const demo = ["--workspace", "demo", "--bot", "demo"];
    await cliJson(["knowledge", "remove", "README.md", ...demo], place.env);
    await cliJson(["bot", "update", "--workspace", "demo", "--slug", "demo", "--name", "Renamed"], place.env);
    await killed.kill9();

    const second = await startReady(place);
    expect(publicKeyOf(second)).toBe(publicKey);
    expect(second.stdout()).toMatch(/PostgreSQL \S+ on 127\.0\.0\.1:\d+; was already running/);
    expect(second.stdout()).toMatch(/demo\s+1 document added/);
    const bot = await cliJson(["bot", "show", "--workspace", "demo", "--slug", "demo"], place.env);
    expect(bot).toMatchObject({ display: { name: "Renamed" } });
    await cliJson(["key", "revoke", publicKey], place.env);
    await second.stop("SIGINT", 30_000);
    expect(await portsInUse(place)).toEqual([]);

    const third = await startReady(place);
    expect(publicKeyOf(third)).not.toBe(publicKey);
    await third.stop("SIGINT", 30_000);
  });
});

describe("a start with DATABASE_URL", () => {
  it("uses that database, makes none of its own, and leaves it running", async () => {
    // On a server of its own: the password of a role is the whole server's.
    const server = await startTestPostgres();
    onTestFinished(() => server.stop());
    const [database, own] = await Promise.all([createDatabase(undefined, { serverUrl: server.url }), makePlace()]);
    onTestFinished(own.remove);
    const parley = await startReady(own, { DATABASE_URL: database.url });
    expect(parley.stdout()).toMatch(new RegExp(`database +PostgreSQL \\S+ at 127\\.0\\.0\\.1:\\d+/${database.name} `));
    const reply = await readChat(await ask(publicKeyOf(parley), crypto.randomUUID(), own));
    expect(reply.done).toMatchObject({ finish_reason: "stop" });
    expect(await isFree(own.port + 8)).toBe(true);
    await parley.stop("SIGINT", 30_000);
    await expect(access(join(own.dataDir, "postgres"))).rejects.toThrow("ENOENT");
    await database.drop();
  });
});

describe("a start that cannot be", () => {
  let empty: Place;
  beforeEach(async () => {
    empty = await makePlace();
  });
  afterEach(() => empty.remove());

  it("names the port in use and its purpose", async () => {
    const other = createServer().listen(empty.port + 4, "127.0.0.1");
    await once(other, "listening");
    expect(await refused(await start(empty))).toMatch(
      new RegExp(`^parley: port ${empty.port + 4}, for quota, is in use: .*PORT=`),
    );
    await once(other.close(), "close");
  });

  it.each([
    ["mysql://localhost/x", /^parley: DATABASE_URL must be a URL \(postgres, postgresql\)$/],
    ["postgres://u:hush@127.0.0.1:1/x", /^parley: cannot use DATABASE_URL: nothing listens there: /],
    ["postgres://u:hush@host.invalid/x", /^parley: cannot use DATABASE_URL: its host name does not resolve: /],
  ])("reports the problem with DATABASE_URL=%s", async (url, expected) => {
    const parley = await start(empty, { DATABASE_URL: url });
    expect(await refused(parley)).toMatch(expected);
    expect(parley.output()).not.toContain("hush");
  });

  it("reports an unwritable DATA_DIR", async () => {
    const file = join(empty.dataDir, "file");
    await writeFile(file, "");
    expect(await refused(await start(empty, { DATA_DIR: join(file, "data") }))).toMatch(
      /^parley: cannot write to .*: make it writable, or set DATA_DIR to another directory$/,
    );
  });

  it("reports every invalid variable together", async () => {
    const line = await refused(await start(empty, { PORT: "70000", JWT_ISSUER: "https://sso.example" }));
    expect(line).toMatch(/^parley: JWT_AUDIENCE and JWKS_URL must be set too: .*; PORT must be a whole number/);
    await expect(access(join(empty.dataDir, "secrets.json"))).rejects.toThrow();
  });

  it("stops what it had started when a service cannot run", async () => {
    const config = join(empty.dataDir, "llm.yaml");
    await writeFile(config, "providers: [");
    const parley = await start(place, { LLM_CONFIG: config });
    expect(await refused(parley)).toMatch(/^parley: llm-proxy did not start \(exit 1: .*\): see .*llm-proxy\.log$/);
    expect(await portsInUse(place)).toEqual([]);
  });
});
