import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFlags, startProcess } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lockDataDir } from "./data-dir.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-data-dir-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe("lockDataDir", () => {
  it("creates the directory so that only its owner can enter", async () => {
    const lock = await lockDataDir(join(dir, "deep", "data"));
    expect((await stat(join(dir, "deep", "data"))).mode & 0o777).toBe(0o700);
    lock.release();
  });

  it("refuses a second lock until the first lock is released", async () => {
    const lock = await lockDataDir(dir);
    await expect(lockDataDir(dir)).rejects.toThrow(`Parley is already running on ${dir}`);
    lock.release();
    (await lockDataDir(dir)).release();
  });

  it("lets only one of two concurrent starts lock a directory that does not exist yet", async () => {
    const path = join(dir, "deep", "data");
    const starts = await Promise.allSettled([lockDataDir(path), lockDataDir(path)]);
    const refused = starts.filter(({ status }) => status === "rejected");
    expect(refused).toEqual([
      { status: "rejected", reason: expect.objectContaining({ message: expect.stringContaining("already running") }) },
    ]);
    for (const start of starts) if (start.status === "fulfilled") start.value.release();
  });

  it("can lock the directory after a process that held the lock was killed", async () => {
    const code = `
      import { lockDataDir } from ${JSON.stringify(new URL("data-dir.ts", import.meta.url).href)};
      await lockDataDir(${JSON.stringify(dir)});
      console.log("locked");
      setInterval(() => {}, 1000);`;
    const args = [...nodeFlags, "--input-type=module", "-e", code];
    const holder = await startProcess({ name: "holder", command: process.execPath, args, ready: /locked/ });
    await holder.waitReady();
    await expect(lockDataDir(dir)).rejects.toThrow("already running");
    await holder.kill9();
    (await lockDataDir(dir)).release();
  });

  it("reports a directory that cannot be created", async () => {
    await writeFile(join(dir, "file"), "");
    await expect(lockDataDir(join(dir, "file", "data"))).rejects.toThrow(
      /^cannot write to .*\(ENOTDIR\): make it writable/,
    );
  });
});
