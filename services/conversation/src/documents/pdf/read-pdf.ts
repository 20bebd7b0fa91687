import { getDocumentProxy } from "unpdf";
import { withoutNul } from "../../text.ts";
import type { Block } from "../blocks/block.ts";
import { UnreadableError } from "../reader-process/unreadable-error.ts";
import { splitPdf } from "./pdf-blocks.ts";
import { type PdfLine, toLines } from "./pdf-lines.ts";

const MAX_PAGES = 2_000;

/** Splits a PDF into blocks of text. Throws UnreadableError. */
export async function readPdf(content: Uint8Array): Promise<Block[]> {
  try {
    return splitPdf(await readPages(content));
  } catch (error) {
    if (error instanceof UnreadableError) throw error;
    const isLocked = error instanceof Error && error.name === "PasswordException";
    throw new UnreadableError(isLocked ? "locked" : "broken_pdf", { cause: error });
  }
}

async function readPages(content: Uint8Array): Promise<PdfLine[][]> {
  const pdf = await getDocumentProxy(content, { useSystemFonts: false, verbosity: 0 });
  if (pdf.numPages > MAX_PAGES) throw new UnreadableError("pdf_pages");
  const pages: PdfLine[][] = [];
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const runs = items.flatMap((item) =>
      "str" in item
        ? [
            {
              text: withoutNul(item.str),
              x: Number(item.transform[4]),
              y: Number(item.transform[5]),
              width: item.width,
              size: item.height,
            },
          ]
        : [],
    );
    // The text runs of a page take several times the memory of its lines, so the runs are combined before the next page is read.
    pages.push(toLines(runs));
    page.cleanup();
  }
  // Frees the parser's memory before the blocks are built.
  await pdf.loadingTask.destroy();
  return pages;
}
