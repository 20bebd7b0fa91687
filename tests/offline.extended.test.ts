import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "./system/processes.ts";

const run = promisify(execFile);
const MAX_MS = 10_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "parley-offline-"));
  await mkdir(join(folder, "deploy/local"), { recursive: true });
  for (const file of [".npmrc", "package.json", "deploy/local/launch.js"])
    await cp(join(root, file), join(folder, file));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs a command in `folder`, and returns its output and the milliseconds that it took. */
async function runTimed(command: string, args: readonly string[], env: Record<string, string> = {}) {
  const startedAtMs = performance.now();
  const options = { cwd: folder, env: { ...process.env, ...env } };
  const output = await run(command, args, options).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `failed: ${stdout}${stderr}`,
  );
  return { output, ms: performance.now() - startedAtMs };
}

/** Creating a network namespace needs root on Linux. */
const mayUnshare = process.platform === "linux" && process.getuid?.() === 0;

describe("without a network", () => {
  test.runIf(mayUnshare)("the README's command runs the pnpm that npx has cached", async () => {
    await run("npx", ["--yes", "pnpm@12", "--version"], { cwd: folder });
    const { output, ms } = await runTimed("unshare", ["--net", "npx", "--yes", "pnpm@12", "--version"]);
    expect(output).toMatch(/^12\./);
    expect(ms).toBeLessThan(MAX_MS);
  });

  test("npx gives up within seconds if it has cached nothing", async () => {
    const env = { npm_config_cache: join(folder, "cache"), npm_config_registry: "http://127.0.0.1:1/" };
    const { output, ms } = await runTimed("npx", ["--yes", "pnpm@12", "start"], env);
    expect(output).toMatch(/^failed: .*ECONNREFUSED/s);
    expect(ms).toBeLessThan(MAX_MS);
  });

  test("start says that packages are missing, and how to install them", async () => {
    const { output } = await runTimed(process.execPath, ["deploy/local/launch.js"]);
    expect(output).toMatch(/^failed: parley: Parley's packages are not installed: .* run `npx --yes pnpm@12 install`/);
  });
});
