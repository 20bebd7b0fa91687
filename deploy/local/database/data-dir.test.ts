import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeFlags, startProcess } from "@parley/test-support";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ensureSecrets } from "../secrets.ts";
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

  it("refuses a second lock until the first is released", async () => {
    const lock = await lockDataDir(dir);
    await expect(lockDataDir(dir)).rejects.toThrow(`Parley is already running on ${dir}`);
    lock.release();
    (await lockDataDir(dir)).release();
  });

  it("can lock the directory after the holder was killed", async () => {
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

describe("ensureSecrets", () => {
  const none = { adminToken: undefined, internalToken: undefined };

  it("creates the secrets once, readable only by the owner", async () => {
    const secrets = await ensureSecrets(dir, none);
    expect(new Set(Object.values(secrets)).size).toBe(7);
    expect(await ensureSecrets(dir, none)).toEqual(secrets);
    expect((await stat(join(dir, "secrets.json"))).mode & 0o077).toBe(0);
  });

  it("uses tokens from the environment without storing them", async () => {
    const secrets = await ensureSecrets(dir, none);
    expect(await ensureSecrets(dir, { ...none, adminToken: "given" })).toEqual({ ...secrets, adminToken: "given" });
    expect(await ensureSecrets(dir, none)).toEqual(secrets);
  });

  it("adds missing secrets and keeps the stored ones", async () => {
    await writeFile(join(dir, "secrets.json"), JSON.stringify({ databasePassword: "kept" }));
    const secrets = await ensureSecrets(dir, none);
    expect(secrets.databasePassword).toBe("kept");
    expect(await ensureSecrets(dir, none)).toEqual(secrets);
  });

  it("does not overwrite a damaged file", async () => {
    await writeFile(join(dir, "secrets.json"), "{");
    await expect(ensureSecrets(dir, none)).rejects.toThrow(/cannot read .*secrets\.json \(damaged file\)/);
  });
});
