import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nameDocument, readDocument } from "./knowledge-document.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-documents-"));
  await mkdir(join(dir, "docs"));
  await writeFile(join(dir, "docs", "api.md"), "# API\n");
  await writeFile(join(dir, "page.HTM"), "<p>Hi</p>");
  await writeFile(join(dir, "large.txt"), "x".repeat(4 * 1024 * 1024 + 1));
  await writeFile(join(dir, "manual.PDF"), Buffer.from([0x25, 0x50, 0x44, 0x46, 0xe2, 0xe3]));
  await writeFile(join(dir, "large.pdf"), "x".repeat(16 * 1024 * 1024 + 1));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe("readDocument", () => {
  it("names a document by its relative path, so that files with the same name in two directories become two documents", async () => {
    const document = await readDocument(dir, "./docs/api.md");
    expect(document).toMatchObject({ name: "docs/api.md", format: "md" });
    expect(new TextDecoder().decode(document.content)).toBe("# API\n");
  });

  it("names a document by its file name if its path is absolute or leads out of the directory", async () => {
    expect(await readDocument("/", join(dir, "docs", "api.md"))).toMatchObject({ name: "api.md" });
    expect(await readDocument(join(dir, "docs"), "../page.HTM")).toMatchObject({ name: "page.HTM", format: "html" });
  });

  it("does not mistake a folder whose name begins with two dots for the parent folder", () => {
    expect(nameDocument("..notes/a.md")).toBe("..notes/a.md");
    expect(nameDocument("docs/../../a.md")).toBe("a.md");
  });

  it("reads a PDF without decoding it as text", async () => {
    expect(await readDocument(dir, "manual.PDF")).toMatchObject({ name: "manual.PDF", format: "pdf" });
  });

  it.each([
    ["missing.md", "does not exist", 1],
    ["docs", "docs has an unsupported format", 2],
    ["report.odt", "report.odt has an unsupported format", 2],
    ["large.txt", "is larger than 4 MiB", 1],
    ["large.pdf", "is larger than 16 MiB", 1],
  ])("refuses %s with a reason", async (file, message, exitCode) => {
    await expect(readDocument(dir, file)).rejects.toMatchObject({
      message: expect.stringContaining(message),
      exitCode,
    });
  });
});
