import { basename, extname, isAbsolute, normalize, resolve, sep } from "node:path";
import { CliError } from "../../errors.ts";
import { readInputFile } from "../read-input-file.ts";

const FORMATS: Readonly<Record<string, string>> = {
  ".txt": "txt",
  ".text": "txt",
  ".md": "md",
  ".markdown": "md",
  ".html": "html",
  ".htm": "html",
  ".pdf": "pdf",
};
const MEBIBYTE = 1024 * 1024;
const MAX_TEXT_MIB = 4;
const MAX_PDF_MIB = 16;

export type Document = { name: string; format: string; content: Uint8Array<ArrayBuffer> };

/** Returns the file's normalised path, or only the file name if the path is absolute or starts with a `..` segment. */
export function nameDocument(file: string): string {
  const path = normalize(file);
  return isAbsolute(path) || path.split(sep)[0] === ".." ? basename(path) : path;
}

/**
 * Reads a file as a knowledge document. A relative path is resolved against `dir`.
 * Throws CliError when the file is missing, too large or of an unsupported format. The service checks the charset of text.
 */
export async function readDocument(dir: string, file: string): Promise<Document> {
  const format = FORMATS[extname(file).toLowerCase()];
  if (format === undefined) {
    throw new CliError(`${file} has an unsupported format: convert it to .txt, .md, .html or .pdf`, { exitCode: 2 });
  }
  const content = new Uint8Array(await readInputFile(resolve(dir, file)));
  const maxMiB = format === "pdf" ? MAX_PDF_MIB : MAX_TEXT_MIB;
  if (content.length > maxMiB * MEBIBYTE)
    throw new CliError(`${file} is larger than ${maxMiB} MiB: split it into smaller files`);
  return { name: nameDocument(file), format, content };
}
