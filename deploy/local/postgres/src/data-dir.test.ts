import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ensureDataDir } from "./data-dir.ts";

let dataDir: string;
beforeEach(async () => {
  dataDir = join(await mkdtemp(join(tmpdir(), "parley-data-dir-")), "data");
  await mkdir(dataDir);
});
afterEach(async () => {
  await rm(join(dataDir, ".."), { recursive: true });
});

function ensure(): Promise<void> {
  const installation = { dataDir, binaries: { dir: "/nowhere", version: "18.4.0-beta.17" } };
  return ensureDataDir(installation, { password: "secret", fast: true, log: () => undefined });
}

it("ensureDataDir refuses data of another major version and names that version", async () => {
  await writeFile(join(dataDir, "PG_VERSION"), "17\n");
  await expect(ensure()).rejects.toThrow(
    expect.objectContaining({ code: "other_major_version", message: expect.stringMatching(/PostgreSQL 17.*18/) }),
  );
});

it("ensureDataDir accepts data of the same major version", async () => {
  await writeFile(join(dataDir, "PG_VERSION"), "18\n");
  await ensure();
});

it("ensureDataDir refuses a directory with unrelated files", async () => {
  await writeFile(join(dataDir, "thesis.txt"), "");
  await expect(ensure()).rejects.toThrow(expect.objectContaining({ code: "foreign_data_dir" }));
});
