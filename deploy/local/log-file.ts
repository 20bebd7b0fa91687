import { createWriteStream, type WriteStream } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { systemCode } from "./errors.ts";

/** The logs of this many earlier starts are kept, as NAME.1.log and so on. */
const KEPT = 3;

/** Opens an empty log for this start, after moving the earlier ones one further. */
export async function openLogFile(path: string): Promise<WriteStream> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (let age = KEPT; age >= 1; age--) {
    await moveIfThere(age === 1 ? path : older(path, age - 1), older(path, age));
  }
  return createWriteStream(path, { flags: "a", mode: 0o600 });
}

function older(path: string, age: number): string {
  return path.replace(/\.log$/, `.${age}.log`);
}

async function moveIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
}
