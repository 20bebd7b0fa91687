import { constants, deflateRawSync, deflateSync } from "node:zlib";
import { pdfFile, pdfStream } from "./small-pdf.ts";

const MiB = 1024 * 1024;
const TWICE = "/Filter [/FlateDecode /FlateDecode]";
const HELLO = "BT /F1 11 Tf 50 700 Td (Hello) Tj ET";

/** Returns spaces, compressed twice with Flate: 4 GiB in about 20 KB. */
export function compressSpacesTwice(bytes = 4_096 * MiB): Buffer {
  const mebibyte = deflateRawSync(Buffer.alloc(MiB, " "), { finishFlush: constants.Z_FULL_FLUSH, level: 9 });
  const blocks = Array<Buffer>(bytes / MiB).fill(mebibyte);
  // A zlib header, the blocks and an empty last block. PDF readers do not need the checksum.
  return deflateSync(Buffer.concat([Buffer.of(0x78, 0x9c), ...blocks, Buffer.of(3, 0, 0, 0, 0, 1)]), { level: 9 });
}

/** Returns small PDFs by name. For each of them, a reader without limits needs gigabytes of memory. */
export function pdfBombs(): Record<string, Uint8Array> {
  const spaces = compressSpacesTwice();
  return {
    "content compressed twice": onePage({ content: pdfStream(TWICE, spaces) }),
    "a font's character map compressed twice": onePage({
      font: "/ToUnicode 6 0 R",
      objects: [pdfStream(TWICE, spaces)],
    }),
    "an object stream compressed twice": withObjectStream(pdfStream(`/Type /ObjStm /N 2 /First 10 ${TWICE}`, spaces)),
    "an object stream that extends itself": withObjectStream(
      pdfStream("/Type /ObjStm /N 1000000000 /First 1000000000 /Extends 3 0 R", "1 0 2 10"),
    ),
    "a cross-reference stream compressed twice": withCrossReferenceStream(
      `/Size 2000000000 /Index [0 2000000000] /W [1 1 0] ${TWICE}`,
      spaces,
    ),
    "2,000,000,000 pages": pdfFile([
      "<< /Type /Catalog /Pages 2 0 R >>",
      "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2000000000 >>",
    ]),
  };
}

/** Returns a small PDF that takes hours to read: 12 form XObjects, each of which draws the next one ten times. */
export function slowPdf(): Uint8Array {
  return onePage({
    content: pdfStream("", "/X6 Do"),
    resources: `/XObject << ${Array.from({ length: 12 }, (_, index) => `/X${index + 6} ${index + 6} 0 R`).join(" ")} >>`,
    objects: Array.from({ length: 12 }, (_, index) => {
      const next = index + 7;
      const entries = `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X${next} ${next} 0 R >> /Font << /F1 3 0 R >> >>`;
      return pdfStream(entries, index === 11 ? HELLO : `/X${next} Do `.repeat(10));
    }),
  });
}

/** Returns a PDF with the text Hello and an image of 10,000 megapixels. */
export function hugeImagePdf(): Uint8Array {
  const image = `/Type /XObject /Subtype /Image /Width 100000 /Height 100000 /BitsPerComponent 8 /ColorSpace /DeviceGray ${TWICE}`;
  return onePage({
    content: pdfStream("", `q 100 0 0 100 0 0 cm /I Do Q ${HELLO}`),
    resources: "/XObject << /I 6 0 R >>",
    objects: [pdfStream(image, compressSpacesTwice())],
  });
}

type Page = { content?: Uint8Array; font?: string; resources?: string; objects?: Uint8Array[] };

/** Returns a PDF of one page. Its font is object 3, its content object 5, and the additional `objects` start at 6. */
function onePage({ content = pdfStream("", HELLO), font = "", resources = "", objects = [] }: Page): Uint8Array {
  return pdfFile([
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
    `<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica ${font} >>`,
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> ${resources} >> /Contents 5 0 R >>`,
    content,
    ...objects,
  ]);
}

/** Returns a PDF whose catalog (object 1) and page tree (object 2) are in an object stream (object 3). */
function withObjectStream(stream: Uint8Array): Uint8Array {
  /** The length of the line `%PDF-1.5`, after which object 3 starts. */
  const offset = 9;
  const before = Buffer.concat([Buffer.from("%PDF-1.5\n3 0 obj\n"), stream, Buffer.from("\nendobj\n")]);
  // Three bytes per object: the type (1: at an offset, 2: in an object stream), the offset or stream, and the index in the stream.
  const entries = Buffer.of(0, 0, 0, 2, 3, 0, 2, 3, 1, 1, offset, 0);
  return appendCrossReferenceStream(before, "/Size 4 /W [1 1 1]", entries);
}

function withCrossReferenceStream(dictionary: string, content: Uint8Array): Uint8Array {
  return appendCrossReferenceStream(Buffer.from("%PDF-1.5\n"), dictionary, content);
}

function appendCrossReferenceStream(before: Uint8Array, dictionary: string, content: Uint8Array): Uint8Array {
  const stream = pdfStream(`/Type /XRef /Root 1 0 R ${dictionary}`, content);
  const end = `\nendobj\nstartxref\n${before.length}\n%%EOF\n`;
  return Buffer.concat([before, Buffer.from("9 0 obj\n"), stream, Buffer.from(end)]);
}
