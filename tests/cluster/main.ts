// pnpm test:cluster [FILTER…]: tests the chart on a real cluster; test:cluster:full runs all test files. Uses the cluster of KUBECONFIG if it is
// set, otherwise creates a cluster of one node and removes it. If no cluster can be created, prints the reason and exits 75, or 1 with
// PARLEY_REQUIRE_ALL=1.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { findHelm } from "../../tools/chart/helm.ts";
import { interruption, ROOT } from "./commands.ts";
import { ensureCrds } from "./crds.ts";
import { ensureBinaries, ensureImages, ensurePrerequisites, NoCluster, type Node, startNode } from "./node.ts";

const UNAVAILABLE_EXIT_CODE = 75;
const INTERRUPTED_EXIT_CODE = 130;

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());

const isFull = process.env.PARLEY_TEST_FULL === "1";
const startedAt = performance.now();
const seconds = () => Math.round((performance.now() - startedAt) / 1_000);

/** Returns vitest's exit code. `enter` is a command prefix that enters the node's network namespace. `pathFolders` are added to the PATH. */
async function runTests(
  enter: readonly string[],
  pathFolders: readonly string[],
  env: Record<string, string>,
): Promise<number> {
  const selection = isFull ? [] : ["--exclude", "**/*.full.cluster.test.ts"];
  const options = ["run", "--config", "tests/cluster/vitest.config.ts", ...selection, ...process.argv.slice(2)];
  const vitest = [join(ROOT, "node_modules/.bin/vitest"), ...options];
  const [command = "", ...args] = [...enter, ...vitest];
  const path = [dirname(await findHelm()), ...pathFolders, process.env.PATH].join(":");
  const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...env, PATH: path }, stdio: "inherit" });
  const stop = () => child.kill("SIGTERM");
  interruption.signal.addEventListener("abort", stop);
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

/** Returns the environment variable that names the folder of the CustomResourceDefinitions, or no variable if their download fails. */
async function buildCrdsEnv(): Promise<Record<string, string>> {
  try {
    return { PARLEY_CLUSTER_CRDS: await ensureCrds() };
  } catch (error) {
    console.log(`no CustomResourceDefinitions: ${(error as Error).message}`);
    return {};
  }
}

async function testOwnCluster(crdsEnv: Record<string, string>): Promise<number> {
  await ensurePrerequisites();
  // Not concurrently, because each build uses all cores.
  const binariesFolder = await ensureBinaries();
  const images = await ensureImages();
  console.log(`binaries and images: ${seconds()} s`);
  const node: Node = await startNode(binariesFolder, images);
  try {
    interruption.signal.throwIfAborted();
    console.log(`the node is ready: ${seconds()} s`);
    return await runTests(node.enter, [binariesFolder], { ...crdsEnv, KUBECONFIG: node.kubeconfig });
  } finally {
    await node.stop();
  }
}

try {
  const crdsEnv = isFull ? await buildCrdsEnv() : {};
  process.exitCode = process.env.KUBECONFIG ? await runTests([], [], crdsEnv) : await testOwnCluster(crdsEnv);
} catch (error) {
  if (error instanceof NoCluster) {
    console.log(`THE CHART IS NOT TESTED ON A CLUSTER: ${error.message}`);
    process.exitCode = process.env.PARLEY_REQUIRE_ALL === "1" ? 1 : UNAVAILABLE_EXIT_CODE;
  } else if (!interruption.signal.aborted) throw error;
}
if (interruption.signal.aborted) process.exitCode = INTERRUPTED_EXIT_CODE;
console.log(`test:cluster: ${seconds()} s`);
