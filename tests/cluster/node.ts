import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, rmdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CACHE, cacheFolder, prepareCachePath } from "./cache.ts";
import { interruption, ROOT, run, succeeds } from "./commands.ts";

const FOLDER = "tests/cluster/node";
const KUBERNETES_VERSION = "v1.34.4";
/** Components in the binary `kubernetes`. A symbolic link to the binary runs the component whose name the link has. */
const COMPONENTS = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"];
const DEBIAN_PACKAGES: [command: string, debianPackage: string][] = [
  ["containerd", "containerd"],
  ["runc", "runc"],
  ["etcd", "etcd-server"],
  ["/usr/lib/cni/ptp", "containernetworking-plugins"],
  ["nft", "nftables"],
  ["conntrack", "conntrack"],
  ["ip", "iproute2"],
  ["unshare", "util-linux"],
  ["openssl", "openssl"],
];
const START_TIMEOUT_MS = 180_000;

/** Thrown if no cluster can run on this machine. */
export class NoCluster extends Error {}

/** Installs the Debian packages that are missing. Throws NoCluster without Linux or root, or if the installation fails. */
export async function ensurePrerequisites(): Promise<void> {
  if (process.platform !== "linux" || process.getuid?.() !== 0) throw new NoCluster("a node needs Linux and root");
  const missing = async () => {
    const checks = DEBIAN_PACKAGES.map(async ([command, name]) => ((await commandExists(command)) ? [] : [name]));
    return (await Promise.all(checks)).flat();
  };
  const packages = await missing();
  if (packages.length > 0 && (await commandExists("apt-get"))) {
    const env = { DEBIAN_FRONTEND: "noninteractive" };
    const install = ["install", "-y", "-qq", "--no-install-recommends", ...packages];
    for (const args of [["update", "-qq"], install]) {
      await run("apt-get", args, { env, timeoutMs: 300_000 }).catch((error: Error) => {
        throw new NoCluster(`cannot install ${packages.join(", ")}: ${error.message}`);
      });
    }
  }
  const stillMissing = await missing();
  if (stillMissing.length > 0) throw new NoCluster(`not installed: ${stillMissing.join(", ")}`);
}

function commandExists(command: string): Promise<boolean> {
  return succeeds("sh", ["-c", `command -v ${command}`]);
}

/** Returns the folder with the binaries of Kubernetes and CoreDNS. If they are not cached, builds them from Go modules, which takes minutes. */
export async function ensureBinaries(): Promise<string> {
  return cacheFolder("binaries", [`${FOLDER}/kubernetes`, `${FOLDER}/coredns`], buildBinaries);
}

async function buildBinaries(folder: string): Promise<void> {
  if (!(await commandExists("go"))) throw new NoCluster("Kubernetes is not built yet, and Go is not installed");
  console.log(`building Kubernetes ${KUBERNETES_VERSION} and CoreDNS`);
  const versionPackage = "k8s.io/component-base/version";
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(KUBERNETES_VERSION) ?? [];
  const flags = [
    `${versionPackage}.gitVersion=${KUBERNETES_VERSION}`,
    `${versionPackage}.gitMajor=${major}`,
    `${versionPackage}.gitMinor=${minor}`,
  ];
  await build("kubernetes", folder, flags.map((flag) => `-X ${flag}`).join(" "));
  await build("coredns", folder, "");
  for (const component of COMPONENTS) await symlink("kubernetes", join(folder, component));
}

async function build(module: string, folder: string, ldflags: string): Promise<void> {
  const args = ["go", "build", "-trimpath", "-ldflags", `-s -w ${ldflags}`, "-o", join(folder, module), "."];
  const options = { cwd: join(ROOT, FOLDER, module), env: { CGO_ENABLED: "0" }, timeoutMs: 3_600_000 };
  await run("nice", ["-n", "19", ...args], options).catch((error: Error) => {
    throw new NoCluster(`${module} cannot be built: ${error.message}`);
  });
}

/** The files that the images are built from: see .dockerignore. */
const IMAGE_SOURCES = [
  ...["package.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "LICENSE", "patches", "packages", "services"],
  ...["deploy/docker", "deploy/development-sso", ".dockerignore", "tests/cluster/save-images.sh"],
];

/** Returns the archive with the images. If they are not cached, builds them with a Docker daemon that runs only during the build. */
export async function ensureImages(): Promise<string> {
  const archive = await prepareCachePath("images", IMAGE_SOURCES);
  if (existsSync(archive)) return archive;
  console.log("building the images");
  const env = { DOCKER_DATA_ROOT: join(CACHE, "docker") };
  await run(".ci/images", ["tests/cluster/save-images.sh", archive], { env, timeoutMs: 1_800_000 }).catch(
    (error: Error) => {
      // .ci/images exits with 75 if one of its setup steps fails.
      if (error.message.includes("exit code 75")) throw new NoCluster(error.message);
      throw error;
    },
  );
  return archive;
}

export type Node = {
  kubeconfig: string;
  /** The prefix of each command that uses the cluster. Runs the command in the node's network namespace. */
  enter: readonly string[];
  /** Kills every process of the cluster, and deletes its files and cgroups. */
  stop(): Promise<void>;
};

/** Starts a cluster of one node in Linux namespaces of its own. */
export async function startNode(binaries: string, images: string): Promise<Node> {
  const stateFolder = await mkdtemp(join(tmpdir(), "parley-cluster-"));
  const cgroup = `parley-cluster-${process.pid}`;
  const namespaces = ["--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child=KILL", "--mount-proc"];
  const script = [join(ROOT, FOLDER, "node.sh"), binaries, images, stateFolder, cgroup, process.execPath];
  // The kernel kills the cluster if this process is killed.
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "unshare", ...namespaces, ...script], {
    stdio: ["ignore", "inherit", "inherit"],
    // A Ctrl-C in the terminal reaches only this process, which then stops the cluster.
    detached: true,
  });
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    await removeCgroups(cgroup);
    await rm(stateFolder, { recursive: true, force: true, maxRetries: 20, retryDelay: 500 });
  };
  try {
    await waitUntilReady(child, join(stateFolder, "ready"));
  } catch (error) {
    if (!interruption.signal.aborted) await printLogs(stateFolder);
    await stop();
    throw error;
  }
  return { kubeconfig: join(stateFolder, "kubeconfig"), enter: ["nsenter", `--net=/proc/${child.pid}/ns/net`], stop };
}

async function waitUntilReady(child: ChildProcess, file: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!existsSync(file)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("the node ended");
    if (performance.now() > deadline) throw new Error(`the node is not ready after ${START_TIMEOUT_MS / 1_000} s`);
    interruption.signal.throwIfAborted();
    await sleep(200);
  }
}

async function printLogs(stateFolder: string): Promise<void> {
  for (const name of ["images", "containerd", "etcd", "apiserver", "kubelet", "proxy", "network-policies", "coredns"]) {
    const log = await readFile(join(stateFolder, "logs", name), "utf8").catch(() => "");
    console.error(`--- ${name}\n${log.split("\n").slice(-15).join("\n")}`);
  }
}

async function removeCgroups(name: string): Promise<void> {
  const mounts = (await readFile("/proc/mounts", "utf8")).split("\n").map((line) => line.split(" "));
  const hierarchies = mounts.filter(([, , type]) => type === "cgroup" || type === "cgroup2");
  for (const [, hierarchy = ""] of hierarchies) {
    const folder = join(hierarchy, name);
    if (!existsSync(folder)) continue;
    const children = await readdir(folder, { recursive: true, withFileTypes: true });
    const folders = children
      .filter((each) => each.isDirectory())
      .map(({ parentPath, name: child }) => join(parentPath, child));
    // Removes children before their parents.
    for (const each of [...folders, folder].sort((a, b) => b.length - a.length)) await removeCgroup(each);
  }
}

/** Retries for 10 s, because the kernel removes a killed process from its cgroup only after a moment. */
async function removeCgroup(folder: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rmdir(folder);
    } catch (error) {
      if (attempt === 100) throw error;
      await sleep(100);
    }
  }
}
