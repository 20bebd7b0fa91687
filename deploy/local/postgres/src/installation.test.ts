import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { dataDirForRoot, resolveInstallation } from "./installation.ts";

it("resolveInstallation uses the given data directory for an ordinary user", async () => {
  const dir = await mkdtemp(join(tmpdir(), "parley-installation-"));
  try {
    const installation = await resolveInstallation(join(dir, "new", "data"), 1000);
    expect(installation).toEqual({ dataDir: join(dir, "new", "data"), binaries: installation.binaries });
    expect((await stat(join(dir, "new"))).isDirectory()).toBe(true);
    expect((await stat(join(installation.binaries.dir, "bin", "postgres"))).isFile()).toBe(true);
  } finally {
    await rm(dir, { recursive: true });
  }
});

it("dataDirForRoot maps equivalent paths to the same directory in /var/lib/parley, and different paths to different directories", () => {
  expect(dataDirForRoot("/root/parley/.parley")).toMatch(/^\/var\/lib\/parley\/[0-9a-f]{16}$/);
  expect(dataDirForRoot("/root/parley/../parley/.parley/")).toBe(dataDirForRoot("/root/parley/.parley"));
  expect(dataDirForRoot("/root/other/.parley")).not.toBe(dataDirForRoot("/root/parley/.parley"));
});
