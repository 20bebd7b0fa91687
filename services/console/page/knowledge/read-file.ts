import { t } from "../i18n/t.tsx";

const MIB = 1024 * 1024;
const MAX_PDF_BYTES = 16 * MIB;
const MAX_TEXT_BYTES = 4 * MIB;
const FORMAT_BY_EXTENSION: Readonly<Record<string, string>> = {
  txt: "txt",
  md: "md",
  markdown: "md",
  html: "html",
  htm: "html",
  pdf: "pdf",
};

/** The `accept` attribute of an input for documents. */
export const ACCEPTED_FILES = Object.keys(FORMAT_BY_EXTENSION)
  .map((extension) => `.${extension}`)
  .join(",");

export type FileContent = { format: string; content: Uint8Array<ArrayBuffer> };

/** Reads a file as a document. Returns the problem as a text if the file cannot be a document. */
export async function readFile(file: File): Promise<FileContent | string> {
  const format = FORMAT_BY_EXTENSION[file.name.split(".").at(-1)?.toLowerCase() ?? ""];
  if (format === undefined) return t("Only .txt, .md, .html and .pdf files can be read.");
  if (file.size === 0) return t("The file is empty.");
  const limit = format === "pdf" ? MAX_PDF_BYTES : MAX_TEXT_BYTES;
  if (file.size > limit) return t("The file is larger than {limit} MiB.", { limit: limit / MIB });
  const content = await file.arrayBuffer().catch(() => undefined);
  if (content === undefined) return t("The file cannot be read. It may be a folder, or have been moved or changed.");
  return { format, content: new Uint8Array(content) };
}
