import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { NODE_FLAGS } from "./local/migrate-service.ts";

// On this Linux device, every write fails with ENOSPC.
const FULL_DISK = "/dev/full";

test.runIf(existsSync(FULL_DISK))("a command that cannot write its output prints an error and exits 1", () => {
  const output = openSync(FULL_DISK, "w");
  try {
    const script = fileURLToPath(new URL("main.ts", import.meta.url));
    const { status, stderr } = spawnSync(process.execPath, [...NODE_FLAGS, script, "--version"], {
      stdio: ["ignore", output, "pipe"],
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([1, "parley: cannot write the output (ENOSPC): it is incomplete\n"]);
  } finally {
    closeSync(output);
  }
});
