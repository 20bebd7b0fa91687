import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFlags, startProcess } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { takeDataDir } from "./data-dir.ts";
import { ensureSecrets } from "./secrets.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-data-dir-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe("takeDataDir", () => {
  it("makes the directory for its own user alone", async () => {
    const lock = await takeDataDir(join(dir, "deep", "data"));
    expect((await stat(join(dir, "deep", "data"))).mode & 0o777).toBe(0o700);
    lock.release();
  });

  it("gives it to one at a time", async () => {
    const lock = await takeDataDir(dir);
    await expect(takeDataDir(dir)).rejects.toThrow(`Parley already runs on ${dir}`);
    lock.release();
    (await takeDataDir(dir)).release();
  });

  it("gets it back from a process that was killed", async () => {
    const code = `
      import { takeDataDir } from ${JSON.stringify(new URL("data-dir.ts", import.meta.url).href)};
      await takeDataDir(${JSON.stringify(dir)});
      console.log("taken");
      setInterval(() => {}, 1000);`;
    const args = [...nodeFlags, "--input-type=module", "-e", code];
    const holder = await startProcess({ name: "holder", command: process.execPath, args, ready: /taken/ });
    await holder.waitReady();
    await expect(takeDataDir(dir)).rejects.toThrow("already runs");
    await holder.kill9();
    (await takeDataDir(dir)).release();
  });

  it("says that it cannot be made", async () => {
    await writeFile(join(dir, "file"), "");
    await expect(takeDataDir(join(dir, "file", "data"))).rejects.toThrow(
      /^cannot write to .*\(ENOTDIR\): make it writable/,
    );
  });
});

describe("ensureSecrets", () => {
  const none = { adminToken: undefined, internalToken: undefined };

  it("makes secrets once and keeps them to its own user", async () => {
    const secrets = await ensureSecrets(dir, none);
    expect(new Set(Object.values(secrets)).size).toBe(6);
    expect(await ensureSecrets(dir, none)).toEqual(secrets);
    expect((await stat(join(dir, "secrets.json"))).mode & 0o077).toBe(0);
  });

  it("uses tokens of the environment without keeping them", async () => {
    const secrets = await ensureSecrets(dir, none);
    expect(await ensureSecrets(dir, { ...none, adminToken: "given" })).toEqual({ ...secrets, adminToken: "given" });
    expect(await ensureSecrets(dir, none)).toEqual(secrets);
  });

  it("makes what an older version did not keep, and leaves the rest", async () => {
    await writeFile(join(dir, "secrets.json"), JSON.stringify({ databasePassword: "kept" }));
    const secrets = await ensureSecrets(dir, none);
    expect(secrets.databasePassword).toBe("kept");
    expect(await ensureSecrets(dir, none)).toEqual(secrets);
  });

  it("does not make new ones over a damaged file", async () => {
    await writeFile(join(dir, "secrets.json"), "{");
    await expect(ensureSecrets(dir, none)).rejects.toThrow(/cannot read .*secrets\.json \(it is damaged\)/);
  });
});
