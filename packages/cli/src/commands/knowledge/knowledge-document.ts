import { basename, isAbsolute, normalize, resolve, sep } from "node:path";
import { formatOfName, listExtensions, maxSizeOf } from "@parley/rpc/documents";
import { CliError } from "../../errors.ts";
import { readInputFile } from "../read-input-file.ts";

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
  const format = formatOfName(file);
  if (format === undefined) {
    throw new CliError(`${file} has an unsupported format: convert it to ${describeFormats()}`, { exitCode: 2 });
  }
  const content = new Uint8Array(await readInputFile(resolve(dir, file)));
  const max = maxSizeOf(format);
  if (content.length > max.bytes)
    throw new CliError(`${file} is larger than ${max.mebibytes} MiB: split it into smaller files`);
  return { name: nameDocument(file), format, content };
}

/** Returns the extensions of documents as an English list. */
export function describeFormats(): string {
  return new Intl.ListFormat("en-GB", { type: "disjunction" }).format(listExtensions());
}
