import { readFile } from "node:fs/promises";
import { CliError } from "../errors.ts";

/** Reads a file that the user named. Throws CliError if it does not exist or cannot be read. */
export async function readInputFile(path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CliError(
      code === "ENOENT"
        ? `${path} does not exist: check the path`
        : `cannot read ${path} (${code}): check its permissions`,
      { cause },
    );
  }
}
