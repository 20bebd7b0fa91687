import { execFile } from "node:child_process";
import { once } from "node:events";
import { access, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isFullRun, type RunningProcess, startFakeProvider } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { signIn } from "./console/owner.ts";
import { readChat } from "./system/chat.ts";
import { runCliInChildProcess, runCliJson } from "./system/cli.ts";
import {
  createInstance,
  type Instance,
  portsInUse,
  readPublicKey,
  startInstance,
  startInstanceAndWait,
} from "./system/local-start.ts";
import { CTRL_C, hasTerminal, openTerminal } from "./system/terminal.ts";

// A start takes many seconds on a busy machine.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let instance: Instance;
/** The latest start of `instance`. */
let parley: RunningProcess;
/** The demo bot's current public key. */
let publicKey: string;
/** The demo workspace's usage before the clean stop, as the CLI printed it. */
let usageBeforeStop: unknown;
beforeAll(async () => {
  instance = await createInstance();
});
afterAll(() => instance.remove());

const urlOf = ({ port }: Instance) => `http://127.0.0.1:${port}`;

function sendMessage(sessionId: string) {
  const message = "How do I embed the widget?";
  return fetch(`${urlOf(instance)}/api/chat/`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: `http://localhost:${instance.shopPort}` },
    body: JSON.stringify({ public_key: publicKey, session_id: sessionId, message }),
  });
}

/** Returns the factor by which other processes slow this one down, estimated from the load average. */
function loadFactor(): number {
  const [load = 0] = loadavg();
  return Math.max(1, load / availableParallelism());
}

/** Returns the process id of the start's child process whose command line contains `text`. */
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

/** Waits until a start has failed with exit code 1. Returns its one-line error. */
async function readStartError(parley: RunningProcess): Promise<string> {
  const { code } = await parley.exited;
  expect(code).toBe(1);
  const lines = parley.stderr().trimEnd().split("\n");
  expect(lines, parley.stderr()).toHaveLength(1);
  return lines[0] ?? "";
}

/** Kills the child process whose command line contains `text`. Waits until the start prints that it has restarted `name`. */
async function killAndAwaitRestart(name: string, text: string): Promise<void> {
  process.kill(await findChildPid(text, parley), "SIGKILL");
  await vi.waitFor(() => expect(parley.stdout()).toMatch(new RegExp(`${name}\\s+restarted`)), 60_000);
}

async function waitForReply(): Promise<void> {
  await vi.waitFor(async () => {
    const reply = await readChat(await sendMessage(crypto.randomUUID()));
    expect(reply.done).toMatchObject({ finish_reason: "stop" });
  }, 30_000);
}

// A start takes seconds, so several tests share one. Each start continues with the data of the previous one.
describe("a first start", () => {
  beforeAll(async () => {
    parley = await startInstanceAndWait(instance);
    publicKey = readPublicKey(parley);
  });

  it("starts everything, replies from the documentation, counts the reply and issues tokens", async () => {
    const sessionId = crypto.randomUUID();
    const reply = await readChat(await sendMessage(sessionId));
    expect(reply.events[0]?.event).toBe("meta");
    expect(reply.text).toContain("widget.js");
    expect(reply.done).toMatchObject({ finish_reason: "stop", model: "builtin:extractive" });
    const settled = { plan: "free", used: 1, held: 0 };
    await vi.waitFor(
      async () => expect(await runCliJson(["usage", "--workspace", "demo"], instance.env)).toMatchObject(settled),
      10_000,
    );

    const shop = await fetch(`http://127.0.0.1:${instance.shopPort}/`);
    expect(await shop.text()).toContain(
      `src="http://localhost:${instance.port}/widget.js" data-public-key="${publicKey}"`,
    );
    expect((await fetch(`${urlOf(instance)}/widget.js`)).headers.get("content-type")).toContain("javascript");

    const { access_token, expires_in } = await runCliJson<{ access_token: string; expires_in: number }>(
      ["token", "--workspace", "demo", "--ttl", "30m"],
      instance.env,
    );
    expect(expires_in).toBe(1_800);
    const exported = await fetch(`${urlOf(instance)}/api/conversations/${sessionId}/export.json`, {
      headers: { authorization: `Bearer ${access_token}` },
    });
    expect(exported.status).toBe(200);
  });

  it("prints the console's address, where one click signs in an owner of the demo workspace", async () => {
    const [, address = ""] = /Console\s+(http:\S+)/.exec(parley.stdout()) ?? [];
    expect(address).toBe(`http://localhost:${instance.consolePort}`);
    const owner = await signIn(address);
    const method = "parley.conversation.v1.BotAdminService/ListBots";
    const response = await owner.post(`/api/rpc/${method}`);
    expect(await response.json()).toMatchObject({ bots: [{ slug: "demo" }] });
  });

  it("restarts a killed database without a restart of the services", async () => {
    await killAndAwaitRestart("database", `port=${instance.databasePort}`);
    await waitForReply();
    expect(parley.stdout()).not.toMatch(/(edge|conversation|quota|llm-proxy|console)\s+exited unexpectedly/);
  });

  it("restarts a killed service without a restart of the others", async () => {
    for (const name of ["edge", "conversation", "quota", "llm-proxy", "console"])
      await killAndAwaitRestart(name, `services/${name}/src/main.ts`);
    await waitForReply();
    for (const name of ["edge", "conversation", "quota", "llm-proxy", "console"])
      expect(parley.stdout().match(new RegExp(`${name}\\s+restarted`, "g"))).toHaveLength(1);
  });

  it("leaves only its database running when killed, and the next start recreates the missing data and nothing else", async () => {
    const demo = ["--workspace", "demo", "--bot", "demo"];
    await runCliJson(["knowledge", "remove", "README.md", ...demo], instance.env);
    await runCliJson(["bot", "update", "--workspace", "demo", "--slug", "demo", "--name", "Renamed"], instance.env);
    await parley.kill9();

    parley = await startInstanceAndWait(instance);
    expect(readPublicKey(parley)).toBe(publicKey);
    expect(parley.stdout()).toMatch(/PostgreSQL \S+ on 127\.0\.0\.1:\d+; was already running/);
    expect(parley.stdout()).toMatch(/demo\s+1 document added/);
    const bot = await runCliJson(["bot", "show", "--workspace", "demo", "--slug", "demo"], instance.env);
    expect(bot).toMatchObject({ display: { name: "Renamed" } });
  });
});

describe("a start after a kill", () => {
  it("makes its files readable only by its own user, and logs no secrets", async () => {
    for (const file of ["secrets.json", "instance.json", "issuer-key.json"]) {
      expect((await stat(join(instance.dataDir, file))).mode & 0o077, file).toBe(0);
    }
    const secrets = Object.values(JSON.parse(await readFile(join(instance.dataDir, "secrets.json"), "utf8")) as object);
    const logs = join(instance.dataDir, "logs");
    const names = await readdir(logs);
    // The four services, the console, the sample shop and the development sign-in. Logs of earlier starts have a number before `.log`.
    expect(names.filter((name) => !/\.\d+\.log$/.test(name))).toHaveLength(7);
    const texts = await Promise.all(names.map((name) => readFile(join(logs, name), "utf8")));
    for (const secret of secrets) for (const text of [parley.output(), ...texts]) expect(text).not.toContain(secret);
  });

  it("refuses a second start with the same data directory and other ports", async () => {
    const otherInstance = await createInstance();
    const second = await startInstance(otherInstance, { DATA_DIR: instance.dataDir });
    expect(await readStartError(second)).toMatch(
      new RegExp(
        `^parley: Parley is already running on ${instance.dataDir} as process ${parley.pid}, at http://localhost:${instance.port}:`,
      ),
    );
    await otherInstance.remove();
  });

  it("exits 0 on SIGTERM and frees its ports, and the CLI reports that it is not running", async () => {
    usageBeforeStop = await runCliJson(["usage", "--workspace", "demo"], instance.env);
    await runCliJson(["key", "revoke", publicKey], instance.env);
    expect(await parley.stop("SIGTERM", 30_000)).toEqual({ code: 0, signal: null });
    expect(await portsInUse(instance)).toEqual([]);
    const { code, stderr } = await runCliInChildProcess(["usage", "--workspace", "demo"], instance.env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^parley: Parley is not running in .*npx --yes pnpm@12 start/);
  });
});

describe("a start after a clean stop", () => {
  it("keeps the data, replaces the revoked key, and completes a streaming reply before it stops", async () => {
    const provider = await startFakeProvider([{ everyMs: 150 }]);
    onTestFinished(() => provider.close());
    parley = await startInstanceAndWait(instance, { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "sk-of-the-tests" });
    expect(readPublicKey(parley)).not.toBe(publicKey);
    publicKey = readPublicKey(parley);
    expect(parley.stdout()).toMatch(/schemas\s+up to date/);
    expect(parley.stdout()).toMatch(/demo\s+unchanged/);
    expect(await runCliJson(["usage", "--workspace", "demo"], instance.env)).toEqual(usageBeforeStop);

    const response = await sendMessage(crypto.randomUUID());
    parley.signal("SIGINT");
    const reply = await readChat(response);
    expect(reply.text).toContain("scripted provider");
    expect(reply.done).toMatchObject({ finish_reason: "stop" });
    expect(await parley.exited).toEqual({ code: 0, signal: null });
    expect(await portsInUse(instance)).toEqual([]);
  });

  it.runIf(isFullRun)("keeps the public key, and exits immediately on a second stop signal", async () => {
    const provider = await startFakeProvider([{ everyMs: 1_000 }]);
    onTestFinished(() => provider.close());
    parley = await startInstanceAndWait(instance, { OPENAI_BASE_URL: provider.url, OPENAI_API_KEY: "sk-of-the-tests" });
    expect(readPublicKey(parley)).toBe(publicKey);
    const response = await sendMessage(crypto.randomUUID());
    parley.signal("SIGINT");
    await vi.waitFor(() => expect(parley.stdout()).toContain("Press Ctrl-C again to exit immediately"), 10_000);
    await vi.waitFor(() => {
      parley.signal("SIGINT");
      expect(parley.isRunning()).toBe(false);
    }, 3_000 * loadFactor());
    expect(await parley.exited).toEqual({ code: 130, signal: null });
    await vi.waitFor(async () => expect(await portsInUse(instance)).toEqual([]), 10_000);
    await response.body?.cancel().catch(() => undefined);
  });

  // On Ctrl-C, npx may exit 130 although its command exits 0.
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
});

describe("a start that fails", () => {
  let empty: Instance;
  beforeEach(async () => {
    empty = await createInstance();
  });
  afterEach(() => empty.remove());

  it("names the port in use and its purpose", async () => {
    const other = createServer().listen(empty.quotaPort, "127.0.0.1");
    await once(other, "listening");
    expect(await readStartError(await startInstance(empty))).toMatch(
      new RegExp(`^parley: port ${empty.quotaPort}, for the quota service, is in use: .*PORT=`),
    );
    await once(other.close(), "close");
  });

  it.each([
    ["mysql://localhost/x", /^parley: DATABASE_URL must be a URL \(postgres, postgresql\)$/],
    ["postgres://u:hush@127.0.0.1:1/x", /^parley: cannot use DATABASE_URL: nothing listens at its address: /],
    ["postgres://u:hush@host.invalid/x", /^parley: cannot use DATABASE_URL: its host name does not resolve: /],
  ])("reports the problem with DATABASE_URL=%s", async (url, expected) => {
    const failed = await startInstance(empty, { DATABASE_URL: url });
    expect(await readStartError(failed)).toMatch(expected);
    expect(failed.output()).not.toContain("hush");
  });

  it("reports an unwritable DATA_DIR", async () => {
    const file = join(empty.dataDir, "file");
    await writeFile(file, "");
    expect(await readStartError(await startInstance(empty, { DATA_DIR: join(file, "data") }))).toMatch(
      /^parley: cannot write to .*: make it writable, or set DATA_DIR to another directory$/,
    );
  });

  it("reports every invalid variable together", async () => {
    const line = await readStartError(await startInstance(empty, { PORT: "70000", JWT_ISSUER: "https://sso.example" }));
    expect(line).toMatch(/^parley: JWT_AUDIENCE and JWKS_URL must be set too, because .*; PORT must be a whole number/);
    await expect(access(join(empty.dataDir, "secrets.json"))).rejects.toThrow();
  });

  it.runIf(isFullRun)("stops the other services when one cannot start", async () => {
    const config = join(empty.dataDir, "llm.yaml");
    await writeFile(config, "providers: [");
    const failed = await startInstance(instance, { LLM_CONFIG: config });
    expect(await readStartError(failed)).toMatch(
      /^parley: llm-proxy did not start \(exit 1: .*\): see .*llm-proxy\.log$/,
    );
    expect(await portsInUse(instance)).toEqual([]);
  });
});
