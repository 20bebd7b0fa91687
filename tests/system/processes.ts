import { fileURLToPath } from "node:url";
import { freePorts, nodeFlags, type RunningProcess, startProcess } from "@parley/test-support";

export type ServiceName = "edge" | "conversation" | "quota" | "llm-proxy";

export const INTERNAL_TOKEN = "internal-token-of-the-tests";
export const ADMIN_TOKEN = "admin-token-of-the-tests";

/** Of every service's role on the tests' servers. */
export const PASSWORD = "password-of-the-tests";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** One service as a real process, which can be killed and started again on the same ports with the same environment. */
export type ServiceProcess = {
  name: ServiceName;
  /** gRPC, or the public port of an edge. */
  port: number;
  opsPort: number;
  process(): RunningProcess;
  /** All that its runs have printed. */
  outputs(): string;
  /** Runs it until it is ready; `extra` is for this run alone. */
  start(extra?: Record<string, string>): Promise<void>;
  kill9(): Promise<void>;
  stop(): Promise<void>;
};

/** Describes a service on two free ports; `start` runs it until it is ready. */
export async function defineService(name: ServiceName, env: Record<string, string>): Promise<ServiceProcess> {
  const [port = 0, opsPort = 0] = await freePorts(2);
  let running: RunningProcess | undefined;
  const runs: RunningProcess[] = [];
  const current = () => {
    if (running === undefined) throw new Error(`${name} was not started`);
    return running;
  };
  return {
    name,
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
          ADMIN_TOKEN,
          PUBLIC_HOST: "127.0.0.1",
          OPS_PORT: String(opsPort),
          [name === "edge" ? "PORT" : "GRPC_PORT"]: String(port),
          ...env,
          ...extra,
        },
        ready: () => isReady(opsPort),
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

async function isReady(opsPort: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${opsPort}/healthz/ready`)).ok;
  } catch {
    return false;
  }
}

export type MigratedService = Exclude<ServiceName, "edge">;

/** Runs a service's migrations as the process that an installation runs; without a password the service's role must exist. */
export async function migrateAsProcess(name: MigratedService, url: string, password?: string) {
  const migration = await startProcess({
    name: `${name} migrations`,
    command: process.execPath,
    args: [...nodeFlags, `services/${name}/src/migrate.ts`],
    cwd: root,
    env: { DATABASE_URL: url, ...(password !== undefined && { DATABASE_PASSWORD: password }) },
  });
  const { code } = await migration.exited;
  return { code, stdout: migration.stdout(), stderr: migration.stderr() };
}

/** The same, where nothing may fail. */
export async function runMigrations(name: MigratedService, url: string, password: string): Promise<void> {
  const { code, stdout, stderr } = await migrateAsProcess(name, url, password);
  if (code !== 0) throw new Error(`migrations of ${name} failed: ${stdout}${stderr}`);
}
