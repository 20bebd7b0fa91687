import { rename, writeFile } from "node:fs/promises";

/** Replaces a file atomically, so that a reader never sees a part of the text. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
