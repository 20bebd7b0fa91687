import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ensureSecrets } from "./secrets.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-secrets-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

describe("ensureSecrets", () => {
  const noTokens = { adminToken: undefined, internalToken: undefined };

  it("creates the secrets once, in a file that only its owner can read", async () => {
    const secrets = await ensureSecrets(dir, noTokens);
    expect(new Set(Object.values(secrets)).size).toBe(8);
    expect(await ensureSecrets(dir, noTokens)).toEqual(secrets);
    expect((await stat(join(dir, "secrets.json"))).mode & 0o077).toBe(0);
  });

  it("uses tokens from the environment without storing them", async () => {
    const secrets = await ensureSecrets(dir, noTokens);
    expect(await ensureSecrets(dir, { ...noTokens, adminToken: "given" })).toEqual({ ...secrets, adminToken: "given" });
    expect(await ensureSecrets(dir, noTokens)).toEqual(secrets);
  });

  it("adds missing secrets and keeps the stored ones", async () => {
    await writeFile(join(dir, "secrets.json"), JSON.stringify({ databasePassword: "kept" }));
    const secrets = await ensureSecrets(dir, noTokens);
    expect(secrets.databasePassword).toBe("kept");
    expect(new Set(Object.values(secrets)).size).toBe(8);
    expect(await ensureSecrets(dir, noTokens)).toEqual(secrets);
  });

  it.each(["{", "null", "[]", "5"])("does not overwrite a file that contains %s", async (damaged) => {
    await writeFile(join(dir, "secrets.json"), damaged);
    await expect(ensureSecrets(dir, noTokens)).rejects.toThrow(/cannot read .*secrets\.json \(damaged file\)/);
    expect(await readFile(join(dir, "secrets.json"), "utf8")).toBe(damaged);
  });
});
