import { readFile } from "node:fs/promises";
import { CliError } from "../errors.ts";

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist: check the path",
  ENOTDIR: "does not exist: check the path",
  ENAMETOOLONG: "is too long: check the path",
  EISDIR: "is a directory: name a file",
  EACCES: "is not readable: check its permissions",
  EPERM: "is not readable: check its permissions",
};

/** Reads a file. Throws CliError if it cannot be read. */
export async function readInputFile(path: string): Promise<Buffer<ArrayBuffer>> {
  try {
    return await readFile(path);
  } catch (cause) {
    const { code = "" } = cause as NodeJS.ErrnoException;
    const problem = PROBLEMS[code];
    throw new CliError(problem ? `${path} ${problem}` : `cannot read ${path} (${code})`, { cause });
  }
}
