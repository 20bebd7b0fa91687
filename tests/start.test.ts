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
import { createInstance, type Instance, publicKeyOf, start, startAndWait } from "./system/local-start.ts";
import { CTRL_C, hasTerminal, openTerminal } from "./system/terminal.ts";

const MAX_SECOND_START_MS = 5_000;

// Generous: on a busy machine a start takes many seconds.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

// The tests share one data directory, because the first start takes longest. No test depends on the data of another.
let instance: Instance;
beforeAll(async () => {
  instance = await createInstance();
});
afterAll(() => instance.remove());

const urlOf = ({ port }: Instance) => `http://127.0.0.1:${port}`;

function sendMessage(publicKey: string, sessionId: string, target = instance) {
  const message = "What does Parley need PostgreSQL for?";
  return fetch(`${urlOf(target)}/api/chat/`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: `http://localhost:${target.port + 9}` },
    body: JSON.stringify({ public_key: publicKey, session_id: sessionId, message }),
  });
}

/** Returns the factor by which other processes slow this one down, estimated from the load average. */
function loadFactor(): number {
  const [load = 0] = loadavg();
  return Math.max(1, load / availableParallelism());
}

/** Returns the ports of the instance that are in use. */
async function portsInUse({ port }: Instance): Promise<number[]> {
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

/** Finds the child process of a start whose command line contains `text`. */
async function findChildPid(text: string, { pid }: RunningProcess): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-ww", "-o", "ppid=,pid=,args="]);
  const [, found] =
    stdout
      .split("\n")
      .filter((line) => line.includes(text))
      .map((line) => line.trim().split(/\s+/))
      .find(([parentPid]) => parentPid === String(pid)) ?? [];
  if (found === undefined) throw new Error(`no child process of the start runs ${text}`);
  return Number(found);
}

/** Waits until a start has failed with exit code 1, and returns its one-line error. */
async function readStartError(parley: RunningProcess): Promise<string> {
  const { code } = await parley.exited;
  expect(code).toBe(1);
  const lines = parley.stderr().trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

describe("a first start", () => {
  it("starts everything, replies from the documentation, stops cleanly, and keeps the data for the second start", async () => {
    const first = await startAndWait(instance);
    const publicKey = publicKeyOf(first);
    const sessionId = crypto.randomUUID();
    const reply = await readChat(await sendMessage(publicKey, sessionId));
    expect(reply.events[0]?.event).toBe("meta");
    expect(reply.text).toContain("PostgreSQL");
    expect(reply.done).toMatchObject({ finish_reason: "stop", model: "builtin:extractive" });

    const shop = await fetch(`http://127.0.0.1:${instance.port + 9}/`);
    expect(await shop.text()).toContain(
      `src="http://localhost:${instance.port}/widget.js" data-public-key="${publicKey}"`,
    );
    expect((await fetch(`${urlOf(instance)}/widget.js`)).headers.get("content-type")).toContain("javascript");

    const { access_token, expires_in } = await cliJson<{ access_token: string; expires_in: number }>(
      ["token", "--workspace", "demo", "--ttl", "30m"],
      instance.env,
    );
    expect(expires_in).toBe(1_800);
    const exported = await fetch(`${urlOf(instance)}/api/conversations/${sessionId}/export.json`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(exported.status).toBe(200);

    expect(await first.stop("SIGINT", 30_000)).toEqual({ code: 0, signal: null });
    expect(await portsInUse(instance)).toEqual([]);
    const { code, stderr } = await runCli(["usage", "--workspace", "demo"], instance.env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^parley: Parley is not running in .*npx --yes pnpm@12 start/);

    const startedAt = performance.now();
    const second = await startAndWait(instance);
    expect(performance.now() - startedAt).toBeLessThanOrEqual(MAX_SECOND_START_MS * loadFactor());
    expect(publicKeyOf(second)).toBe(publicKey);
    expect(second.stdout()).toMatch(/demo\s+unchanged/);
    expect(await cliJson(["usage", "--workspace", "demo"], instance.env)).toMatchObject({
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
    parley = await startAndWait(instance);
  });
  afterAll(() => parley.stop("SIGINT", 30_000));

  async function waitForReply(): Promise<void> {
    await vi.waitFor(async () => {
      const reply = await readChat(await sendMessage(publicKeyOf(parley), crypto.randomUUID()));
      expect(reply.done).toMatchObject({ finish_reason: "stop" });
    }, 30_000);
  }

  it("makes its files readable only by its own user, and logs no secrets", async () => {
    for (const file of ["secrets.json", "instance.json", "issuer-key.json"]) {
      expect((await stat(join(instance.dataDir, file))).mode & 0o077, file).toBe(0);
    }
    const secrets = Object.values(JSON.parse(await readFile(join(instance.dataDir, "secrets.json"), "utf8")) as object);
    const logs = join(instance.dataDir, "logs");
    const names = await readdir(logs);
    // Logs of earlier starts have a number before `.log`.
    expect(names.filter((name) => !/\.\d+\.log$/.test(name))).toHaveLength(5);
    const texts = await Promise.all(names.map((name) => readFile(join(logs, name), "utf8")));
    for (const secret of secrets) for (const text of [parley.output(), ...texts]) expect(text).not.toContain(secret);
  });

  it("refuses a second start with the same data directory and other ports", async () => {
    const otherInstance = await createInstance();
    const second = await start(otherInstance, { DATA_DIR: instance.dataDir });
    expect(await readStartError(second)).toMatch(
      new RegExp(
        `^parley: Parley is already running on ${instance.dataDir} as process ${parley.pid}, at http://localhost:${instance.port}:`,
      ),
    );
    await otherInstance.remove();
  });

  it("restarts a killed database without a restart of the services", async () => {
    process.kill(await findChildPid(`port=${instance.port + 8}`, parley), "SIGKILL");
    await vi.waitFor(() => expect(parley.stdout()).toMatch(/database\s+restarted/), 60_000);
    await waitForReply();
    expect(parley.stdout()).not.toMatch(/(edge|conversation|quota|llm-proxy)\s+exited unexpectedly/);
  });

  it("restarts a killed service without a restart of the others", async () => {
    for (const name of ["edge", "conversation", "quota", "llm-proxy"]) {
      process.kill(await findChildPid(`services/${name}/src/main.ts`, parley), "SIGKILL");
      await vi.waitFor(() => expect(parley.stdout()).toMatch(new RegExp(`${name}\\s+restarted`)), 20_000);
    }
    await waitForReply();
  });
});

describe("stopping Parley", () => {
  it("completes a streaming reply before it stops", async () => {
    const provider = await startFakeProvider([{ everyMs: 150 }]);
    const parley = await startAndWait(instance, { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "sk-of-the-tests" });
    const response = await sendMessage(publicKeyOf(parley), crypto.randomUUID());
    parley.signal("SIGINT");
    const reply = await readChat(response);
    expect(reply.text).toContain("scripted provider");
    expect(reply.done).toMatchObject({ finish_reason: "stop" });
    expect(await parley.exited).toEqual({ code: 0, signal: null });
    await provider.close();
  });

  // npx exits 130 on Ctrl-C, whatever its command's exit code is.
  it.runIf(hasTerminal)("stops cleanly on Ctrl-C in a terminal, through npx and pnpm", async () => {
    const terminal = openTerminal("npx --yes pnpm@12 start", instance.env);
    onTestFinished(terminal.kill);
    await terminal.waitFor("Press Ctrl-C to stop", 120_000);
    terminal.type(CTRL_C);
    await terminal.waitFor("Stopped. The data is kept", 30_000);
    expect([0, 130]).toContain(await terminal.exited);
    expect(terminal.screen()).not.toMatch(/exited unexpectedly|killing/);
    expect(await portsInUse(instance)).toEqual([]);
  });

  it("exits immediately on a second stop signal", async () => {
    const provider = await startFakeProvider([{ everyMs: 1_000 }]);
    const parley = await startAndWait(instance, { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "sk-of-the-tests" });
    const response = await sendMessage(publicKeyOf(parley), crypto.randomUUID());
    parley.signal("SIGINT");
    await vi.waitFor(() => expect(parley.stdout()).toContain("Press Ctrl-C again to exit immediately"));
    await vi.waitFor(() => {
      parley.signal("SIGINT");
      expect(parley.isRunning()).toBe(false);
    }, 3_000);
    expect(await parley.exited).toEqual({ code: 130, signal: null });
    await vi.waitFor(async () => expect(await portsInUse(instance)).toEqual([]), 10_000);
    await response.body?.cancel().catch(() => undefined);
    await provider.close();
  });

  it("leaves no service running when it is killed, and the next start recreates only missing data", async () => {
    const killed = await startAndWait(instance);
    const publicKey = publicKeyOf(killed);
    const demo = ["--workspace", "demo", "--bot", "demo"];
    await cliJson(["knowledge", "remove", "README.md", ...demo], instance.env);
    await cliJson(["bot", "update", "--workspace", "demo", "--slug", "demo", "--name", "Renamed"], instance.env);
    await killed.kill9();

    const second = await startAndWait(instance);
    expect(publicKeyOf(second)).toBe(publicKey);
    expect(second.stdout()).toMatch(/PostgreSQL \S+ on 127\.0\.0\.1:\d+; was already running/);
    expect(second.stdout()).toMatch(/demo\s+1 document added/);
    const bot = await cliJson(["bot", "show", "--workspace", "demo", "--slug", "demo"], instance.env);
    expect(bot).toMatchObject({ display: { name: "Renamed" } });
    await cliJson(["key", "revoke", publicKey], instance.env);
    await second.stop("SIGINT", 30_000);
    expect(await portsInUse(instance)).toEqual([]);

    const third = await startAndWait(instance);
    expect(publicKeyOf(third)).not.toBe(publicKey);
    await third.stop("SIGINT", 30_000);
  });
});

describe("a start with DATABASE_URL", () => {
  it("uses that database, creates none, and leaves it running", async () => {
    // Needs a server of its own: the start sets role passwords, which apply to the whole server.
    const server = await startTestPostgres();
    onTestFinished(() => server.stop());
    const [database, ownInstance] = await Promise.all([
      createDatabase(undefined, { serverUrl: server.url }),
      createInstance(),
    ]);
    onTestFinished(ownInstance.remove);
    const parley = await startAndWait(ownInstance, { DATABASE_URL: database.url });
    expect(parley.stdout()).toMatch(new RegExp(`database +PostgreSQL \\S+ at 127\\.0\\.0\\.1:\\d+/${database.name} `));
    const reply = await readChat(await sendMessage(publicKeyOf(parley), crypto.randomUUID(), ownInstance));
    expect(reply.done).toMatchObject({ finish_reason: "stop" });
    expect(await isFree(ownInstance.port + 8)).toBe(true);
    await parley.stop("SIGINT", 30_000);
    await expect(access(join(ownInstance.dataDir, "postgres"))).rejects.toThrow("ENOENT");
    await database.drop();
  });
});

describe("a start that fails", () => {
  let empty: Instance;
  beforeEach(async () => {
    empty = await createInstance();
  });
  afterEach(() => empty.remove());

  it("names the port in use and its purpose", async () => {
    const other = createServer().listen(empty.port + 4, "127.0.0.1");
    await once(other, "listening");
    expect(await readStartError(await start(empty))).toMatch(
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
    expect(await readStartError(parley)).toMatch(expected);
    expect(parley.output()).not.toContain("hush");
  });

  it("reports an unwritable DATA_DIR", async () => {
    const file = join(empty.dataDir, "file");
    await writeFile(file, "");
    expect(await readStartError(await start(empty, { DATA_DIR: join(file, "data") }))).toMatch(
      /^parley: cannot write to .*: make it writable, or set DATA_DIR to another directory$/,
    );
  });

  it("reports every invalid variable together", async () => {
    const line = await readStartError(await start(empty, { PORT: "70000", JWT_ISSUER: "https://sso.example" }));
    expect(line).toMatch(/^parley: JWT_AUDIENCE and JWKS_URL must be set too: .*; PORT must be a whole number/);
    await expect(access(join(empty.dataDir, "secrets.json"))).rejects.toThrow();
  });

  it("stops the other services when one cannot start", async () => {
    const config = join(empty.dataDir, "llm.yaml");
    await writeFile(config, "providers: [");
    const parley = await start(instance, { LLM_CONFIG: config });
    expect(await readStartError(parley)).toMatch(
      /^parley: llm-proxy did not start \(exit 1: .*\): see .*llm-proxy\.log$/,
    );
    expect(await portsInUse(instance)).toEqual([]);
  });
});
