import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, open } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LocalPostgresError } from "./errors.ts";
import type { Installation } from "./installation.ts";
import { minimalEnvironment } from "./run.ts";

const MAX_LOG_BYTES = 5 * 1024 * 1024;
/** Limits how much of the log is searched for the reason of a failed start. */
const MAX_REASON_BYTES = 65_536;
/** O_NOFOLLOW, because root must not follow a link that the data directory's owner created. */
const LOG_WRITE_FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;
const LOG_READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW;

export interface LaunchedServer {
  pid: number;
  isRunning(): boolean;
  /** Returns the reason why the server exited, read from its log, and whether a retry may succeed. */
  readFailure(): Promise<{ error: LocalPostgresError; isTransient: boolean }>;
}

/** Starts the server in its own session, so that it outlives this process and does not receive the terminal's signals. */
export async function launchServer(
  installation: Installation,
  { port, fast }: { port: number; fast: boolean },
): Promise<LaunchedServer> {
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: fast ? "300" : "100",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    ...(fast && { fsync: "off", synchronous_commit: "off", full_page_writes: "off" }),
  };
  const args = [
    "-D",
    installation.dataDir,
    ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  // Logs to a file, because a pipe would close when this process exits.
  const logPath = join(installation.dataDir, "postgres.log");
  const logFile = await open(logPath, LOG_WRITE_FLAGS, 0o600);
  try {
    if (installation.owner) await logFile.chown(installation.owner.uid, installation.owner.gid);
    if ((await logFile.stat()).size > MAX_LOG_BYTES) await logFile.truncate();
    const logStart = (await logFile.stat()).size;
    const child = spawn(join(installation.binaries.dir, "bin", "postgres"), args, {
      cwd: "/",
      env: minimalEnvironment(),
      stdio: ["ignore", logFile.fd, logFile.fd],
      detached: true,
      ...installation.owner,
    });
    await once(child, "spawn");
    child.unref();
    return {
      pid: child.pid ?? 0,
      isRunning: () => child.exitCode === null && child.signalCode === null,
      readFailure: async () => describeFailure(await readLog(logPath, logStart), logPath, port),
    };
  } finally {
    await logFile.close();
  }
}

/** Waits up to `graceMs` for the remaining processes of a killed server to release the port. Throws if the port is then still in use. */
export async function assertPortFree(port: number, graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs;
  while (!(await isPortFree(port))) {
    if (performance.now() >= deadline) throw portInUseError(port);
    await sleep(50);
  }
}

async function isPortFree(port: number): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen({ port, host: "127.0.0.1", exclusive: true });
    await once(probe, "listening");
    return true;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE") return false;
    throw cause;
  } finally {
    probe.close();
  }
}

function describeFailure(
  log: string,
  logPath: string,
  port: number,
): { error: LocalPostgresError; isTransient: boolean } {
  if (log.includes("Address already in use")) return { error: portInUseError(port), isTransient: false };
  const reasons = log.match(/(?<=(?:FATAL|PANIC): +)\S.*/g) ?? [];
  // While the server starts or stops, it also logs a FATAL line, `the database system is …`, for each client that it refuses.
  const ownReason = reasons.findLast((text) => !text.startsWith("the database system is "));
  const reason = ownReason ?? reasons.at(-1) ?? "it exited without an error message";
  return {
    error: new LocalPostgresError("start_failed", `PostgreSQL did not start: ${reason}; see ${logPath}`),
    // The remaining processes of a killed server release its shared memory within seconds.
    isTransient: log.includes("pre-existing shared memory block"),
  };
}

async function readLog(path: string, start: number): Promise<string> {
  const file = await open(path, LOG_READ_FLAGS);
  try {
    const { size } = await file.stat();
    const position = Math.max(start, size - MAX_REASON_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - position), position });
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

function portInUseError(port: number): LocalPostgresError {
  return new LocalPostgresError(
    "port_taken",
    `Port ${port} on 127.0.0.1 is in use by another program: stop that program, or choose another port.`,
  );
}
