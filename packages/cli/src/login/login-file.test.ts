import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { NODE_FLAGS } from "../local/migrate-service.ts";
import { readLogin, withLoginLock } from "./login-file.ts";

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-login-file-"));
  path = join(dir, "login.json");
});
let holder: ChildProcess | undefined;
afterEach(async () => {
  holder?.kill("SIGKILL");
  await rm(dir, { recursive: true });
});

const ignore = () => undefined;

/** Starts a process that holds the lock until it is killed. */
async function startHolder(): Promise<ChildProcess> {
  const code = `
    import { withLoginLock } from ${JSON.stringify(new URL("login-file.ts", import.meta.url).href)};
    await withLoginLock(${JSON.stringify(path)}, () => undefined, async () => {
      console.log("locked");
      await new Promise((resolve) => setTimeout(resolve, 60_000));
    });`;
  const started = spawn(process.execPath, [...NODE_FLAGS, "--input-type=module", "-e", code], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(started.stdout, "data");
  return started;
}

test("when the command that holds the lock is killed, the waiting commands soon get the lock, one after the other", async () => {
  holder = await startHolder();
  let running = 0;
  let maxRunning = 0;
  const work = async () => {
    maxRunning = Math.max(maxRunning, ++running);
    await sleep(100);
    running--;
  };
  const commands = Promise.all(Array.from({ length: 4 }, () => withLoginLock(path, ignore, work)));
  await sleep(200);
  expect(maxRunning).toBe(0);
  const killedAt = performance.now();
  holder.kill("SIGKILL");
  await commands;
  expect(maxRunning).toBe(1);
  expect(performance.now() - killedAt).toBeLessThan(5_000);
});

test("a running command keeps its lock, however old the lock file is", async () => {
  const release = Promise.withResolvers<void>();
  const first = withLoginLock(path, ignore, () => release.promise);
  await sleep(100);
  const old = new Date(Date.now() - 60_000);
  await utimes(`${path}.lock`, old, old);
  let hasStarted = false;
  const second = withLoginLock(path, ignore, async () => {
    hasStarted = true;
  });
  await sleep(300);
  expect(hasStarted).toBe(false);
  release.resolve();
  await Promise.all([first, second]);
  expect(hasStarted).toBe(true);
});

test("a command that waits for more than a second prints why, once", async () => {
  const release = Promise.withResolvers<void>();
  const notices: string[] = [];
  const notice = (line: string) => notices.push(line);
  const first = withLoginLock(path, notice, () => release.promise);
  await sleep(100);
  const second = withLoginLock(path, notice, async () => undefined);
  await sleep(700);
  expect(notices).toEqual([]);
  await sleep(700);
  expect(notices).toEqual(["waiting for another parley command that changes the login …"]);
  release.resolve();
  await Promise.all([first, second]);
  expect(notices).toHaveLength(1);
});

test.each([
  "",
  "null",
  "[]",
  '"token"',
  '{"clientId":"cli","parameters":{},"accessToken":"token","expiresAt":0}',
  '{"issuer":"sso","clientId":"cli","parameters":{},"accessToken":"token","expiresAt":0}',
])("reports a damaged login file that contains %j", async (content) => {
  await writeFile(path, content);
  await expect(readLogin(path)).rejects.toThrow(`${path} is damaged: sign in again with parley login`);
});
