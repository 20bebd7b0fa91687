import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readDocumentation } from "./documentation.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "parley-documentation-"));
  await writeFile(join(root, "README.md"), "# Parley\n");
});
afterEach(() => rm(root, { recursive: true, force: true }));

const readNames = async () => new Set((await readDocumentation(root)).map(({ name }) => name));

describe("readDocumentation", () => {
  it("returns the README and the pages of docs/ without those of its subfolders", async () => {
    expect(await readNames()).toEqual(new Set(["README.md"]));
    await mkdir(join(root, "docs", "decisions"), { recursive: true });
    await writeFile(join(root, "docs", "api.md"), "# API\n");
    await writeFile(join(root, "docs", "decisions", "0001.md"), "# Decision\n");
    await writeFile(join(root, "docs", "picture.svg"), "<svg/>");
    expect(await readNames()).toEqual(new Set(["README.md", "docs/api.md"]));
  });

  it("returns another digest after a page has changed", async () => {
    const digestNow = async () => (await readDocumentation(root))[0]?.digest;
    const before = await digestNow();
    expect(await digestNow()).toBe(before);
    await writeFile(join(root, "README.md"), "# Parley!\n");
    expect(await digestNow()).not.toBe(before);
  });
});
