import { fileURLToPath } from "node:url";
import { freePorts, nodeFlags, type RunningProcess, startProcess } from "@parley/test-support";

export type ServiceName = "edge" | "conversation" | "quota" | "llm-proxy";

export const INTERNAL_TOKEN = "internal-token-of-the-tests";
export const ADMIN_TOKEN = "admin-token-of-the-tests";

/** Password of every service's database role. */
export const SERVICE_ROLE_PASSWORD = "password-of-the-tests";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** A service that runs as a process. Each start uses the same ports. */
export type ServiceProcess = {
  name: ServiceName;
  /** The environment variables of each run. */
  env: Record<string, string>;
  /** The gRPC port, or the public port of an edge. */
  port: number;
  opsPort: number;
  process(): RunningProcess;
  /** Returns the output of all runs. */
  outputs(): string;
  /** Starts the service and waits until it is ready. `extra` has environment variables for this run only. */
  start(extra?: Record<string, string>): Promise<void>;
  kill9(): Promise<void>;
  stop(): Promise<void>;
};

/** Creates a service on free ports without starting it. */
export async function createService(name: ServiceName, env: Record<string, string>): Promise<ServiceProcess> {
  const [port = 0, opsPort = 0, edgeRpcPort = 0] = await freePorts(name === "edge" ? 3 : 2);
  let running: RunningProcess | undefined;
  const runs: RunningProcess[] = [];
  const current = () => {
    if (running === undefined) throw new Error(`${name} was not started`);
    return running;
  };
  return {
    name,
    env,
    port,
    opsPort,
    process: current,
    outputs: () => runs.map((run) => run.output()).join(""),
    async start(extra = {}) {
      running = await startProcess({
        name,
        command: process.execPath,
        args: [...nodeFlags, `services/${name}/src/main.ts`],
        cwd: root,
        env: {
          INTERNAL_TOKEN,
          ...(name === "edge"
            ? { EDGE_RPC_ADDRESS: "127.0.0.1", EDGE_RPC_PORT: String(edgeRpcPort) }
            : { ADMIN_TOKEN }),
          PUBLIC_HOST: "127.0.0.1",
          OPS_PORT: String(opsPort),
          [name === "edge" ? "PORT" : "GRPC_PORT"]: String(port),
          ...env,
          ...extra,
        },
        // An edge becomes ready only when the conversation service is ready. A test may have killed both.
        readyTimeoutMs: 90_000,
        ready: () => returnsOk(`http://127.0.0.1:${opsPort}/healthz/ready`),
      });
      runs.push(running);
      await running.waitReady();
    },
    async kill9() {
      await current().kill9();
    },
    async stop() {
      if (running?.isRunning()) await running.stop("SIGTERM", 40_000);
    },
  };
}

/** Returns whether a GET of the URL returns a 2xx status; false if the connection fails. */
export async function returnsOk(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

export const SERVICES_WITH_DATABASE = ["conversation", "quota", "llm-proxy"] as const satisfies ServiceName[];
export type ServiceWithDatabase = (typeof SERVICES_WITH_DATABASE)[number];

/** Runs a service's migrations in a process, as an installation does. If `password` is undefined, the service's role must exist. */
export async function migrateAsProcess(
  name: ServiceWithDatabase,
  url: string,
  password?: string,
  env: Record<string, string> = {},
) {
  const migration = await startProcess({
    name: `${name} migrations`,
    command: process.execPath,
    args: [...nodeFlags, `services/${name}/src/migrate.ts`],
    cwd: root,
    // The databases of a test run share the server and its roles.
    env: {
      DATABASE_URL: url,
      DATABASE_ROLES_SHARED: "on",
      ...(password !== undefined && { DATABASE_PASSWORD: password }),
      ...env,
    },
  });
  const { code } = await migration.exited;
  return { code, stdout: migration.stdout(), stderr: migration.stderr() };
}

/** Throws if the migrations fail. */
export async function runMigrations(
  name: ServiceWithDatabase,
  url: string,
  password: string,
  env: Record<string, string> = {},
): Promise<void> {
  const { code, stdout, stderr } = await migrateAsProcess(name, url, password, env);
  if (code !== 0) throw new Error(`migrations of ${name} failed: ${stdout}${stderr}`);
}
