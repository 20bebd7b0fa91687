import { describe, expect, test } from "vitest";
import { fenceCode } from "./block.ts";
import { toChunks } from "./chunking.ts";

describe("toChunks", () => {
  const block = (text: string, ...headings: string[]) => ({ headings, text });

  test("combines only blocks with the same headings", () => {
    expect(toChunks([block("a", "H"), block("b", "H"), block("c", "H", "I"), block("d")])).toEqual([
      { heading: "H", text: "a\nb" },
      { heading: "H > I", text: "c" },
      { heading: "", text: "d" },
    ]);
  });

  test("splits a block between sentences into chunks of at most 1,400 characters", () => {
    const sentence = `W${"word ".repeat(59)}end. `;
    const chunks = toChunks([block(sentence.repeat(10).trim())]);
    expect(chunks.map((chunk) => chunk.text.length)).toEqual([1203, 1203, 601]);
    for (const { text } of chunks) expect(text).toMatch(/^Wword .* end\.$/);
  });

  test("splits a long sentence between words and a long word anywhere, without losing text", () => {
    for (const text of ["word ".repeat(1_000).trim(), "x".repeat(5_000), "😀".repeat(2_000)]) {
      const chunks = toChunks([block(text)]);
      for (const chunk of chunks) {
        expect(chunk.text.length).toBeLessThanOrEqual(1_400);
        expect(chunk.text.isWellFormed()).toBe(true);
      }
      expect(
        chunks
          .map((chunk) => chunk.text)
          .join("")
          .replaceAll(" ", ""),
      ).toBe(text.replaceAll(" ", ""));
    }
  });

  test("splits a long code block between lines into code blocks, and keeps the indentation", () => {
    const lines = Array.from({ length: 100 }, (_, index) => `    const value${index} = compute(a. B, ${index});`);
    lines[0] = "function first() {";
    const chunks = toChunks([block(fenceCode(lines.join("\n"))), block("Prose.")]);
    expect(chunks.length).toBeGreaterThan(1);
    for (const { text } of chunks) expect(text.length).toBeLessThanOrEqual(1_400);
    const texts = chunks.map(({ text }) => text.replace(/\nProse\.$/, ""));
    for (const text of texts) expect(text).toMatch(/^```\n(function| {4}const )[\s\S]*;\n```$/);
    expect(texts.flatMap((text) => text.split("\n").slice(1, -1))).toEqual(lines);
  });

  test("splits a code block that contains fences into code blocks with longer fences", () => {
    const lines = Array.from(
      { length: 100 },
      (_, index) => `\`\`\`\`sh\nconst value${index} = compute(${index});\n\`\`\`\``,
    );
    const chunks = toChunks([block(fenceCode(lines.join("\n"))), block("Prose.")]);
    expect(chunks.length).toBeGreaterThan(1);
    for (const { text } of chunks) expect(text.length).toBeLessThanOrEqual(1_400);
    const texts = chunks.map(({ text }) => text.replace(/\nProse\.$/, ""));
    for (const text of texts) expect(text).toMatch(/^`{5}\n[\s\S]*\n`{5}$/);
    expect(texts.flatMap((text) => text.split("\n").slice(1, -1)).join("\n")).toBe(lines.join("\n"));
  });

  test("splits a code block of 5,000 backticks or emoji into chunks of at most 1,400 characters", () => {
    for (const unit of ["`", "😀"])
      for (const { text } of toChunks([block(fenceCode(unit.repeat(5_000)))]))
        expect(text.length).toBeLessThanOrEqual(1_400);
  });
});
