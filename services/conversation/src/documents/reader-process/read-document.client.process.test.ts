import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { compressSpacesTwice } from "../../testing/document-bombs.ts";
import { chunksOf, rawDocument, read } from "../../testing/documents.ts";
import { docxFile, paragraph, xlsxFile, xlsxRow, zipFile } from "../../testing/office-files.ts";
import { lockedPdf, pdfFile, pdfStream, smallPdf } from "../../testing/small-pdf.ts";
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

  const withDoctype = (xml: string) =>
    `<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b SYSTEM "file:///etc/passwd">]>${xml}`;
  const compoundFile = (text: string) =>
    Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(600), Buffer.from(text, "utf16le")]);
  const encrypted = (file: Uint8Array) => {
    const bytes = Buffer.from(file);
    for (let at = bytes.indexOf("PK\u0001\u0002"); at !== -1; at = bytes.indexOf("PK\u0001\u0002", at + 1))
      bytes[at + 8] = 1;
    return bytes;
  };
  const sheet = (xml: string | Uint8Array) => xlsxFile([], { parts: sheetParts(xml) });
  const sheetParts = (xml: string | Uint8Array) => {
    const names = {
      "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="A" r:id="rId9"/></sheets></workbook>',
    };
    const type = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet";
    const rels = `<Relationships><Relationship Id="rId9" Type="${type}" Target="s.xml"/></Relationships>`;
    return { ...names, "xl/_rels/workbook.xml.rels": rels, "xl/s.xml": xml };
  };
  const docx = docxFile(paragraph("Fine."));
  test.each<[string, string, RawDocument]>([
    [
      "a DOCX bomb",
      "unpacks to more than 100 MiB",
      { format: "docx", content: docxFile(" ".repeat(101 * 1024 * 1024)) },
    ],
    [
      "a sheet of 100 MB",
      "unpacks to more than 100 MiB",
      { format: "xlsx", content: sheet(Buffer.alloc(101 * 1024 * 1024, "<row/>")) },
    ],
    ["a sheet that is one text", "MiB", { format: "xlsx", content: sheet(Buffer.alloc(99 * 1024 * 1024, " a")) }],
    ["nested elements", "nested too deeply", { format: "docx", content: docxFile("<w:p>".repeat(1_000_000)) }],
    [
      "entities",
      "declares a document type",
      {
        format: "docx",
        content: docxFile("", { parts: { "word/document.xml": withDoctype("<w:document>&a;&b;</w:document>") } }),
      },
    ],
    [
      "entities in a sheet",
      "declares a document type",
      { format: "xlsx", content: sheet(withDoctype("<worksheet/>")) },
    ],
    [
      "a truncated file",
      "not a complete .docx or .xlsx file",
      { format: "docx", content: docx.subarray(0, docx.length - 40) },
    ],
    [
      "damaged content",
      "not a complete .docx or .xlsx file",
      { format: "docx", content: Buffer.from(docx).fill(7, 300, 420) },
    ],
    ["no archive", "not a complete .docx or .xlsx file", { format: "xlsx", content: Buffer.from("Item;Price") }],
    ["another format of Office", "not a complete .docx or .xlsx file", { format: "xlsx", content: docx }],
    [
      "an archive of other files",
      "not a complete .docx or .xlsx file",
      { format: "docx", content: zipFile({ "a.txt": "a" }) },
    ],
    ["an encrypted archive", "locked with a password", { format: "docx", content: encrypted(docx) }],
    [
      "an encrypted file of Office",
      "locked with a password",
      { format: "xlsx", content: compoundFile("EncryptedPackage") },
    ],
    ["an old file of Office", "Office 97 to 2003", { format: "docx", content: compoundFile("WordDocument") }],
    ["a PDF with a password", "locked with a password", { format: "pdf", content: lockedPdf() }],
  ])("refuses %s and names the reason", async (_, message, document) => {
    expect(document.content.length).toBeLessThan(4 * 1024 * 1024);
    await expect(read(document)).rejects.toMatchObject({
      code: "unreadable_document",
      message: expect.stringContaining(message),
    });
  });

  test("reads DOCX and XLSX, and ignores their references to other files", async () => {
    const rels =
      '<Relationships><Relationship Id="a" Type="x/footnotes" TargetMode="External" Target="http://127.0.0.1:9/"/><Relationship Id="b" Type="x/styles" Target="../../../../etc/passwd"/></Relationships>';
    const content = docxFile(paragraph("Fine."), { parts: { "word/_rels/document.xml.rels": rels } });
    expect(await chunksOf({ format: "docx", content })).toEqual([{ heading: "", text: "Fine." }]);
    const rows = xlsxRow(1, ["Item", "Price"]) + xlsxRow(2, ["Rye", 4]);
    expect(await chunksOf({ format: "xlsx", content: xlsxFile([{ name: "Shop", rows }]) })).toEqual([
      { heading: "Shop", text: "Item: Rye; Price: 4." },
    ]);
  });
});
