import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { smallPdf } from "../testing/small-pdf.ts";
import { type DocumentReader, documentReader, type RawDocument } from "./read-document.ts";

const chunksOf = async (read: DocumentReader, format: "txt" | "md", content: string) =>
  (await read({ format, content })).chunks.map(({ heading, text }) => ({ heading, text }));

test("documents are read beside the event loop, in the order they came", async () => {
  const read = documentReader();
  const large = chunksOf(read, "md", "# H\n\nA sentence of *some* length.\n\n".repeat(20_000));
  let turns = 0;
  const counter = setInterval(() => turns++, 1);
  const small = await chunksOf(read, "txt", "small");
  clearInterval(counter);
  expect(small).toEqual([{ heading: "", text: "small" }]);
  expect((await large).length).toBeGreaterThan(350);
  expect(turns).toBeGreaterThan(20);
});

test("a document made to be slow or too deep is refused in time, and holds up no other", async () => {
  const read = documentReader(1_000);
  const refused = [chunksOf(read, "md", "_a__b".repeat(100_000)), chunksOf(read, "md", `${"> ".repeat(50_000)}x`)];
  for (const each of refused) await expect(each).rejects.toThrow("cannot be read");
  expect(await chunksOf(read, "md", "*fine*")).toEqual([{ heading: "", text: "fine" }]);
});

test("a PDF is read paragraph by paragraph, under its headings or else its pages", async () => {
  const read = documentReader();
  const content = smallPdf([
    [
      { size: 20, y: 780, text: "Opening hours" },
      { size: 11, y: 740, text: "The shop is open from nine to six on week-" },
      { size: 11, y: 726, text: "days. On Sundays it is closed." },
      { size: 11, y: 690, text: "Dogs are welcome." },
    ],
    [{ size: 11, y: 780, text: "Call us at any time." }],
  ]);
  const { chunks } = await read({ format: "pdf", content });
  expect(chunks.map(({ heading, text }) => ({ heading, text }))).toEqual([
    {
      heading: "Opening hours",
      text: "The shop is open from nine to six on weekdays. On Sundays it is closed.\nDogs are welcome.\nCall us at any time.",
    },
  ]);
  const untitled = await read({ format: "pdf", content: smallPdf([[], [{ size: 11, y: 700, text: "Alone." }]]) });
  expect(untitled.chunks).toMatchObject([{ heading: "p. 2", text: "Alone." }]);
});

test("what is no PDF, or is cut, is refused, and holds up no other", async () => {
  const read = documentReader(5_000);
  const whole = smallPdf([[{ size: 11, y: 700, text: "Whole." }]]);
  const broken: RawDocument[] = [
    { format: "pdf", content: await readFile(new URL(import.meta.url)) },
    { format: "pdf", content: new Uint8Array() },
    { format: "pdf", content: new TextEncoder().encode("%PDF-1.7\n%%EOF") },
  ];
  for (const each of broken) await expect(read(each)).rejects.toMatchObject({ code: "unreadable_document" });
  expect((await read({ format: "pdf", content: whole })).chunks).toHaveLength(1);
});
