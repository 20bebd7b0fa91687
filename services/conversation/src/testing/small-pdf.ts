/** `x` is 50 by default, and `spacing` is added after each character. */
export type SmallPdfLine = { text: string; size: number; y: number; x?: number; spacing?: number };

/** Returns a PDF in Helvetica with a page for each list of lines. */
export function smallPdf(pages: readonly (readonly SmallPdfLine[])[]): Uint8Array {
  const kids = pages.map((_, index) => `${4 + index * 2} 0 R`).join(" ");
  return pdfFile([
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((lines, index) => {
      const content = lines
        .map(
          ({ text, size, y, x = 50, spacing = 0 }) =>
            `BT /F1 ${size} Tf ${spacing} Tc ${x} ${y} Td (${text.replace(/[\\()]/g, "\\$&")}) Tj ET`,
        )
        .join("\n");
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + index * 2} 0 R >>`,
        pdfStream("", content),
      ];
    }),
  ]);
}

/** Returns a stream object. `entries` are the entries of its dictionary except the length. */
export function pdfStream(entries: string, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content as string);
  return Buffer.concat([
    Buffer.from(`<< ${entries} /Length ${bytes.length} >>\nstream\n`),
    bytes,
    Buffer.from("\nendstream"),
  ]);
}

/** Returns a PDF of the given objects, which are numbered from 1. The first object must be the catalog. `trailer` are more entries of the trailer. */
export function pdfFile(objects: readonly (string | Uint8Array)[], trailer = ""): Uint8Array {
  const header = Buffer.from("%PDF-1.4\n");
  const parts: Buffer[] = [header];
  let length = header.length;
  const add = (text: string | Uint8Array) => {
    const bytes = Buffer.from(text as string);
    parts.push(bytes);
    length += bytes.length;
  };
  const offsets = objects.map((object, index) => {
    const offset = length;
    add(`${index + 1} 0 obj\n`);
    add(object);
    add("\nendobj\n");
    return offset;
  });
  const xrefOffset = length;
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  add(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`);
  add(`trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${xrefOffset}\n%%EOF\n`);
  return Buffer.concat(parts);
}

/** Returns a PDF that needs a password to open: the hashes in its encryption dictionary are of no known password. */
export function lockedPdf(): Uint8Array {
  const hash = "41".repeat(32);
  return pdfFile(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [] /Count 0 >>",
      `<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <${hash}> /U <${hash}> >>`,
    ],
    "/Encrypt 3 0 R /ID [<41> <41>]",
  );
}
