import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "./system/processes.ts";

const run = promisify(execFile);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-offline-"));
  await mkdir(join(folder, "deploy/local"), { recursive: true });
  for (const file of [".npmrc", "package.json", "deploy/local/launch.js"])
    await cp(join(root, file), join(folder, file));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a command in `folder`, and returns its output. */
function outputOf(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return run(command, args, { cwd: folder, env: { ...process.env, ...env } }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `failed: ${stdout}${stderr}`,
  );
}

/** Creating a network namespace needs root on Linux. */
const mayUnshare = process.platform === "linux" && process.getuid?.() === 0;

describe("without a network", () => {
  test.runIf(mayUnshare)("the README's command runs the pnpm that npx has cached", async () => {
    await run("npx", ["--yes", "pnpm@12", "--version"], { cwd: folder });
    expect(await outputOf("unshare", ["--net", "npx", "--yes", "pnpm@12", "--version"])).toMatch(/^12\./);
  });

  // With npm's own retries, npx would give up after 70 s, which exceeds the test's time limit.
  test("npx gives up soon if it has cached nothing", async () => {
    const env = { npm_config_cache: join(folder, "cache"), npm_config_registry: "http://127.0.0.1:1/" };
    expect(await outputOf("npx", ["--yes", "pnpm@12", "start"], env)).toMatch(/^failed: .*ECONNREFUSED/s);
  });

  test("start says that packages are missing, and how to install them", async () => {
    expect(await outputOf(process.execPath, ["deploy/local/launch.js"])).toMatch(
      /^failed: parley: Parley's packages are not installed: .* run `npx --yes pnpm@12 install`/,
    );
  });
});
