import { DOCUMENT_EXTENSIONS, formatOfName, maxSizeOf } from "@parley/rpc/documents";
import { formatExtensions } from "../i18n/extensions.ts";
import { t } from "../i18n/t.tsx";

/** The `accept` attribute of an input for documents. */
export const ACCEPTED_FILES = DOCUMENT_EXTENSIONS.join(",");

export type FileContent = { format: string; content: Uint8Array<ArrayBuffer> };

/** Reads a file as a document. Returns the problem as a text if the file cannot be a document. */
export async function readFile(file: File): Promise<FileContent | string> {
  const format = formatOfName(file.name);
  if (format === undefined) return t("Only {files} files can be read.", { files: formatExtensions() });
  if (file.size === 0) return t("The file is empty.");
  const max = maxSizeOf(format);
  if (file.size > max.bytes) return t("The file is larger than {limit} MiB.", { limit: max.mebibytes });
  const content = await file.arrayBuffer().catch(() => undefined);
  if (content === undefined) return t("The file cannot be read. It may be a folder, or have been moved or changed.");
  return { format, content: new Uint8Array(content) };
}
