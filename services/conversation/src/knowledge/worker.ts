import { parentPort } from "node:worker_threads";
import { type Block, documentBlocks, indexDocument, toChunks } from "../documents/index.ts";
import type { RawDocument } from "./read-document.ts";

// An error that is not caught ends the thread, which is how its reader is told.
parentPort?.on("message", async (document: RawDocument) => {
  const blocks =
    document.format === "pdf" ? await pdf(document.content) : documentBlocks(document.format, document.content);
  parentPort?.postMessage(indexDocument(toChunks(blocks)));
});

async function pdf(content: Uint8Array): Promise<Block[]> {
  // Only who sends a PDF waits for its reader to load.
  const [{ readPdf }, { pdfBlocks }] = await Promise.all([
    import("../documents/read-pdf.ts"),
    import("../documents/pdf-blocks.ts"),
  ]);
  return pdfBlocks(await readPdf(content));
}
