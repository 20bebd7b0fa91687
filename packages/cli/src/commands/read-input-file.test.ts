import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { CliError } from "../errors.ts";
import { readInputFile } from "./read-input-file.ts";

const FILE = fileURLToPath(import.meta.url);

test.each([
  ["a missing file", `${FILE}.missing`, "does not exist: check the path"],
  ["a long path", `${FILE}.${"x".repeat(300)}`, "is too long: check the path"],
  ["a path below a file", `${FILE}/below`, "does not exist: check the path"],
  ["a directory", fileURLToPath(new URL(".", import.meta.url)), "is a directory: name a file"],
])("readInputFile names the problem and gives advice for %s", async (_, path, problem) => {
  await expect(readInputFile(path)).rejects.toThrow(`${path} ${problem}`);
});

test("readInputFile reports the path and the code of an error for which it has no advice", async () => {
  const dir = await mkdtemp(join(tmpdir(), "parley-read-input-file-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const path = join(dir, "loop");
  await symlink(path, path);
  await expect(readInputFile(path)).rejects.toThrow(new CliError(`cannot read ${path} (ELOOP)`));
});
