import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ROOT } from "../run-tool.ts";
import { observabilityOutputs } from "./outputs.ts";

for (const [path, text] of await observabilityOutputs()) {
  await mkdir(dirname(join(ROOT, path)), { recursive: true });
  await writeFile(join(ROOT, path), text);
}
