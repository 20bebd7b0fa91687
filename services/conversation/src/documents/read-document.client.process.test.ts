import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { compressSpacesTwice } from "../testing/document-bombs.ts";
import { chunksOf, rawDocument, read } from "../testing/documents.ts";
import { pdfFile, pdfStream, smallPdf } from "../testing/small-pdf.ts";
import { type RawDocument, READER_FLAGS, readDocument } from "./read-document.client.ts";

// Each call starts a process of the lowest priority, which takes time on a busy machine.
describe("readDocument", { timeout: 120_000 }, () => {
  test("refuses a document that takes too much memory, and reads the next one", async () => {
    const bomb = pdfFile([
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
      pdfStream("/Filter [/FlateDecode /FlateDecode]", compressSpacesTwice()),
    ]);
    expect(bomb.length).toBeLessThan(20_000);
    await expect(read({ format: "pdf", content: bomb })).rejects.toMatchObject({
      code: "unreadable_document",
      message: expect.stringContaining("more than 192 MiB of memory; split it"),
    });
    expect(await chunksOf(rawDocument("txt", "fine"))).toEqual([{ heading: "", text: "fine" }]);
  });

  test("reads small texts of a workspace one after the other in one process, and those of another workspace in another", async () => {
    const readFor = async (workspaceId: string, content: string) => {
      const options = { signal: new AbortController().signal, workspaceId };
      const { pieces } = await readDocument(rawDocument("md", content), options);
      return [...pieces].flatMap((piece) => ("chunks" in piece ? piece.chunks.map(({ text }) => text) : []));
    };
    const listReaders = async () => {
      const args = ["-P", String(process.pid), "-f", "read-document.child"];
      return (await promisify(execFile)("pgrep", args)).stdout.trim().split("\n");
    };
    expect(await readFor("a", "*one*")).toEqual(["one"]);
    const [reader, ...others] = await listReaders();
    expect(others).toEqual([]);
    for (const text of ["two", "three"]) expect(await readFor("a", `*${text}*`)).toEqual([text]);
    expect(await listReaders()).toEqual([reader]);
    expect(await readFor("b", "four")).toEqual(["four"]);
    const [readerOfOther, ...more] = await listReaders();
    expect(readerOfOther).not.toBe(reader);
    expect(more).toEqual([]);
    const deep = `${"> ".repeat(50_000)}x`;
    await expect(readFor("b", deep)).rejects.toMatchObject({ code: "unreadable_document" });
    expect(await readFor("b", "five")).toEqual(["five"]);
    // Without a workspace, a document has a process of its own, and no other process may wait meanwhile.
    expect(await chunksOf(rawDocument("txt", "six"))).toEqual([{ heading: "", text: "six" }]);
    await expect(listReaders()).rejects.toMatchObject({ code: 1 });
  });

  test("refuses a document that is nested too deeply", async () => {
    await expect(read(rawDocument("md", `${"> ".repeat(50_000)}x`))).rejects.toMatchObject({
      code: "unreadable_document",
      message: expect.stringContaining("nested too deeply"),
    });
  });

  test("stops reading when the caller cancels", async () => {
    const caller = new AbortController();
    const reading = readDocument(rawDocument("md", "_a__b".repeat(100_000)), { signal: caller.signal });
    setTimeout(() => caller.abort(new Error("cancelled")), 200);
    await expect(reading).rejects.toThrow("cancelled");
  });

  test("the reading process can read its code but no other file, and cannot write, start a process or load native code", async () => {
    const script = `console.log(JSON.stringify({
    allowed: ["fs.write", "child", "addon"].filter((scope) => process.permission.has(scope)),
    passwords: process.permission.has("fs.read", "/etc/passwd"),
    code: process.permission.has("fs.read", ${JSON.stringify(import.meta.filename)}),
  }))`;
    const { stdout } = await promisify(execFile)(process.execPath, [...READER_FLAGS, "-e", script]);
    expect(JSON.parse(stdout)).toEqual({ allowed: [], passwords: false, code: true });
  });

  test("splits a PDF into paragraphs under its headings, or under page numbers if it has none", async () => {
    const content = smallPdf([
      [
        { size: 20, y: 780, text: "Opening hours" },
        { size: 11, y: 740, text: "The shop is open from nine to six on week-" },
        { size: 11, y: 726, text: "days. On Sundays it is closed." },
        { size: 11, y: 690, text: "Dogs are welcome." },
      ],
      [{ size: 11, y: 780, text: "Call us at any time." }],
    ]);
    expect(await chunksOf({ format: "pdf", content })).toEqual([
      {
        heading: "Opening hours",
        text: "The shop is open from nine to six on weekdays. On Sundays it is closed.\nDogs are welcome.\nCall us at any time.",
      },
    ]);
    const untitled = smallPdf([[], [{ size: 11, y: 700, text: "Alone." }]]);
    expect(await chunksOf({ format: "pdf", content: untitled })).toEqual([{ heading: "p. 2", text: "Alone." }]);
  });

  test("replaces NUL in the text of a PDF, because PostgreSQL cannot store it", async () => {
    const map = "1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <42> <0000> endbfchar";
    const content = pdfFile([
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
      "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>",
      pdfStream("", "BT /F1 11 Tf 50 700 Td (ABC) Tj ET"),
      pdfStream("", map),
    ]);
    expect(await chunksOf({ format: "pdf", content })).toEqual([{ heading: "p. 1", text: "A\uFFFDC" }]);
  });

  test("refuses a file that is not a complete PDF, and reads the next one", async () => {
    const complete = smallPdf([[{ size: 11, y: 700, text: "Complete." }]]);
    const broken: RawDocument[] = [
      { format: "pdf", content: await readFile(new URL(import.meta.url)) },
      { format: "pdf", content: new Uint8Array() },
      { format: "pdf", content: Buffer.from("%PDF-1.7\n%%EOF") },
    ];
    for (const each of broken)
      await expect(read(each)).rejects.toMatchObject({
        code: "unreadable_document",
        message: expect.stringContaining("not a complete PDF"),
      });
    expect(await chunksOf({ format: "pdf", content: complete })).toHaveLength(1);
  });
});
