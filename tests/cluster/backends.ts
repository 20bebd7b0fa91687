import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT, run } from "./commands.ts";

const apply = (stdin: string) => run("kubectl", ["apply", "--filename", "-"], { stdin });

/** Puts a file, or the files of a folder, into a ConfigMap of the backends' namespace. */
async function createConfigMap(name: string, source: string): Promise<void> {
  const create = ["create", "configmap", name, "--namespace", "backends", `--from-file=${source}`];
  await apply(await run("kubectl", [...create, "--dry-run=client", "--output=yaml"]));
}

/** Bundles `<name>.ts` of this folder for a pod with only Node. Puts the bundle into the ConfigMap `name` as `<name>.js`. */
export async function putBundleIntoConfigMap(name: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "parley-bundle-"));
  try {
    await build({
      entryPoints: [join(ROOT, `tests/cluster/${name}.ts`)],
      outfile: join(folder, `${name}.js`),
      bundle: true,
      platform: "node",
      format: "esm",
      // The index of @parley/test-support also imports CommonJS packages, whose `require` calls fail in an ES module.
      alias: { "@parley/test-support": join(ROOT, "tests/support/src/sse.ts") },
    });
    await createConfigMap(name, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Starts PostgreSQL, Redis, the fake provider and the pod that generates the visitors' load. */
export async function startBackends(): Promise<void> {
  await apply(await readFile(join(ROOT, "tests/cluster/backends.yaml"), "utf8"));
  await createConfigMap("provider", join(ROOT, "tests/support/src/fake-provider"));
  await putBundleIntoConfigMap("load");
  for (const namespace of ["backends", "redis"]) {
    const wait = ["wait", "--for=condition=Available", "deployment", "--all", "--timeout=170s"];
    await run("kubectl", ["--namespace", namespace, ...wait], { timeoutMs: 180_000 });
  }
}

const inPostgres = (script: string) =>
  run("kubectl", ["--namespace", "backends", "exec", "deployment/postgres", "--", "sh", "-c", script]);

/**
 * Crashes PostgreSQL and prevents its restart while the operation runs. Returns the time at which PostgreSQL accepts connections again,
 * in ms since 1970.
 */
export async function withoutPostgres(operation: () => Promise<void>): Promise<number> {
  await inPostgres('touch /tmp/away && kill -QUIT "$(head -n 1 "$PGDATA/postmaster.pid")"');
  try {
    await operation();
  } finally {
    await inPostgres("rm /tmp/away");
  }
  await inPostgres("until pg_isready --quiet --host 127.0.0.1; do sleep 0.1; done");
  return Date.now();
}

/** Removes the pods of a deployment while the operation runs. Returns the time at which its new pods are ready, in ms since 1970. */
export async function withoutDeployment(
  namespace: string,
  name: string,
  operation: () => Promise<void>,
): Promise<number> {
  const kubectl = (...args: string[]) => run("kubectl", ["--namespace", namespace, ...args], { timeoutMs: 180_000 });
  const deployment = `deployment/${name}`;
  const replicas = await kubectl("get", deployment, "--output=jsonpath={.spec.replicas}");
  await kubectl("scale", deployment, "--replicas=0");
  try {
    await operation();
  } finally {
    await kubectl("scale", deployment, `--replicas=${replicas}`);
  }
  await kubectl("rollout", "status", deployment, "--timeout=170s");
  return Date.now();
}
