import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PAGES, readDocumentation } from "./documentation.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "parley-documentation-"));
  await mkdir(join(root, "docs"));
  for (const name of PAGES) await writeFile(join(root, name), "# Parley\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

describe("readDocumentation", () => {
  it("returns the pages that a newcomer asks about, and no other", async () => {
    await writeFile(join(root, "docs", "dependencies.md"), "# Dependencies\n");
    expect((await readDocumentation(root)).map(({ name }) => name)).toEqual(PAGES);
  });

  it("finds all pages in the repository", async () => {
    expect((await readDocumentation()).map(({ name }) => name)).toEqual(PAGES);
  });

  it("returns another digest after a page has changed", async () => {
    const digestNow = async () => (await readDocumentation(root))[0]?.digest;
    const before = await digestNow();
    expect(await digestNow()).toBe(before);
    await writeFile(join(root, "README.md"), "# Parley!\n");
    expect(await digestNow()).not.toBe(before);
  });
});
