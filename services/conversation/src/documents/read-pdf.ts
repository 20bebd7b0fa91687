import { getDocumentProxy } from "unpdf";
import type { PdfRun } from "./pdf-blocks.ts";

const MAX_PAGES = 2_000;

/** The runs of text of a PDF, page by page; throws for what is none, is locked with a password, or has too many pages. */
export async function readPdf(content: Uint8Array): Promise<PdfRun[][]> {
  const pdf = await getDocumentProxy(content, { useSystemFonts: false, verbosity: 0 });
  if (pdf.numPages > MAX_PAGES) throw new Error(`more than ${MAX_PAGES} pages`);
  const pages: PdfRun[][] = [];
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    pages.push(
      items.flatMap((item) =>
        "str" in item
          ? [{ text: item.str, size: item.height, y: Number(item.transform[5]), endsLine: item.hasEOL }]
          : [],
      ),
    );
    page.cleanup();
  }
  return pages;
}
