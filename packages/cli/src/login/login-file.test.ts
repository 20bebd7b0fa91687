import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withLoginLock } from "./login-file.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-login-file-"));
});
afterEach(() => rm(dir, { recursive: true }));

test("commands take over the lock of a killed command at once, one after the other", async () => {
  const path = join(dir, "login.json");
  const lock = `${path}.lock`;
  await writeFile(lock, "");
  const old = new Date(Date.now() - 60_000);
  await utimes(lock, old, old);
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await sleep(100);
    running--;
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: 4 }, () => withLoginLock(path, work)));
  expect(most).toBe(1);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});
