import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { resolveInstallation, toSharedDataDir } from "./installation.ts";

it("for an ordinary user, resolveInstallation returns the given data directory, creates its parent and finds the PostgreSQL binaries", async () => {
  const dir = await mkdtemp(join(tmpdir(), "parley-installation-"));
  try {
    const installation = await resolveInstallation({ dataDir: join(dir, "new", "data") }, 1000);
    expect(installation).toEqual({ dataDir: join(dir, "new", "data"), binaries: installation.binaries });
    expect((await stat(join(dir, "new"))).isDirectory()).toBe(true);
    expect((await stat(join(installation.binaries.dir, "bin", "postgres"))).isFile()).toBe(true);
  } finally {
    await rm(dir, { recursive: true });
  }
});

it("toSharedDataDir maps equivalent paths to one directory and different paths to different ones, in /var/lib/parley or in the given directory", () => {
  expect(toSharedDataDir("/root/parley/.parley")).toMatch(/^\/var\/lib\/parley\/[0-9a-f]{16}$/);
  expect(toSharedDataDir("/root/parley/../parley/.parley/")).toBe(toSharedDataDir("/root/parley/.parley"));
  expect(toSharedDataDir("/root/other/.parley")).not.toBe(toSharedDataDir("/root/parley/.parley"));
  expect(toSharedDataDir("/root/parley/.parley", "/dev/shm/run")).toMatch(/^\/dev\/shm\/run\/[0-9a-f]{16}$/);
});
