import { isFullRun } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { slowPdf } from "../../testing/document-bombs.ts";
import { chunksOf, rawDocument, read } from "../../testing/documents.ts";
import type { RawDocument } from "./read-document.client.ts";

// Each call starts a process of the lowest priority, which takes time on a busy machine.
describe("readDocument", { timeout: 120_000 }, () => {
  test.runIf(isFullRun)("keeps the event loop free, and returns every chunk in order and every word once", async () => {
    let ticks = 0;
    const counter = setInterval(() => ticks++, 1);
    const content = Array.from({ length: 20_000 }, (_, at) => `Sentence *${at}* of some length.\n\n`).join("");
    const document = await read(rawDocument("md", `# H\n\n${content}`));
    clearInterval(counter);
    expect(ticks).toBeGreaterThan(20);
    const pieces = [...document.pieces];
    const chunks = pieces.flatMap((piece) => ("chunks" in piece ? piece.chunks : []));
    const words = pieces.flatMap((piece) => ("words" in piece ? piece.words : []));
    expect(pieces.length).toBeGreaterThan(5);
    expect(chunks).toHaveLength(document.chunkCount);
    expect(chunks.map((chunk) => chunk.text).join("\n")).toBe(
      Array.from({ length: 20_000 }, (_, at) => `Sentence ${at} of some length.`).join("\n"),
    );
    expect(document.characters).toBe(chunks.reduce((sum, chunk) => sum + chunk.text.length, 0));
    expect(words).toHaveLength(20_005);
    expect(new Set(words)).toEqual(
      new Set(["h", "sentence", "of", "some", "length", ...Array.from({ length: 20_000 }, (_, at) => String(at))]),
    );
    expect(document.firstWords.slice(0, 6)).toEqual(["sentence", "0", "of", "some", "length", "sentence"]);
    expect(document.firstWords).toHaveLength(1_000);
  });

  const slowDocuments: Record<string, RawDocument> = {
    Markdown: rawDocument("md", "_a__b".repeat(100_000)),
    "a PDF": { format: "pdf", content: slowPdf() },
  };
  test.each(Object.entries(slowDocuments))(
    "refuses %s that takes too much CPU time, and reads the next document",
    async (_, slow) => {
      await expect(read(slow, 1_500)).rejects.toMatchObject({
        code: "unreadable_document",
        message: expect.stringContaining("more than 1.5 s of CPU time; split it"),
      });
      expect(await chunksOf(rawDocument("md", "*fine*"))).toEqual([{ heading: "", text: "fine" }]);
    },
  );

  test("refuses a document whose chunks exceed 32 MiB because each chunk repeats a long heading", async () => {
    const content = `# ${"x ".repeat(300_000)}\n\n${"A paragraph.\n\n".repeat(20_000)}`;
    await expect(read(rawDocument("md", content))).rejects.toMatchObject({ code: "unreadable_document" });
  });
});
