import type { TextFormat } from "../documents/document.ts";
import { type RawDocument, readDocument } from "../documents/reader-process/read-document.client.ts";

const signal = new AbortController().signal;

export const read = (raw: RawDocument, maxCpuMs?: number) =>
  readDocument(raw, maxCpuMs === undefined ? { signal } : { signal, maxCpuMs });
export const rawDocument = (format: TextFormat, content: string): RawDocument => ({
  format,
  content: Buffer.from(content),
});

/** Reads a document and returns the headings and texts of its chunks. */
export async function chunksOf(raw: RawDocument) {
  const { pieces } = await read(raw);
  return [...pieces].flatMap((piece) =>
    "chunks" in piece ? piece.chunks.map(({ heading, text }) => ({ heading, text })) : [],
  );
}
