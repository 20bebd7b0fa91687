import { createWriteStream, type WriteStream } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { systemCode } from "../errors.ts";

/** The number of old logs to keep. The log NAME.log of the previous start is kept as NAME.1.log. */
const MAX_OLD_LOGS = 3;

/** Rotates the logs of earlier starts and opens an empty log. */
export async function openLogFile(path: string): Promise<WriteStream> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  for (let age = MAX_OLD_LOGS; age >= 1; age--) {
    await moveIfExists(age === 1 ? path : oldLogPath(path, age - 1), oldLogPath(path, age));
  }
  return createWriteStream(path, { flags: "a", mode: 0o600 });
}

function oldLogPath(path: string, age: number): string {
  return path.replace(/\.log$/, `.${age}.log`);
}

async function moveIfExists(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
  }
}
