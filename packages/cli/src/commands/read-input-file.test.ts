import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readInputFile } from "./read-input-file.ts";

const FILE = fileURLToPath(import.meta.url);

test.each([
  [`${FILE}.missing`, "does not exist: check the path"],
  [`${FILE}/below`, "does not exist: check the path"],
  [fileURLToPath(new URL(".", import.meta.url)), "is a directory: name a file"],
])("readInputFile reports the problem of %s", async (path, problem) => {
  await expect(readInputFile(path)).rejects.toThrow(`${path} ${problem}`);
});
