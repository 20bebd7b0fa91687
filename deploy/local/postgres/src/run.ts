import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The user and group a process runs as; both are numbers of the system. */
export interface Owner {
  uid: number;
  gid: number;
}

export interface RunOptions {
  /** Run as this user; needs root. */
  owner?: Owner | undefined;
  timeoutMs?: number;
}

/** Runs a short program to its end and gives its standard output. Rejects with its standard error on any failure. */
export async function run(command: string, args: string[], options: RunOptions = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: "/",
    env: plainEnv(),
    timeout: options.timeoutMs ?? 60_000,
    killSignal: "SIGKILL",
    ...options.owner,
  });
  return stdout;
}

/** No variable of ours reaches the server: neither secrets nor PGDATA and its kin. */
export function plainEnv(): NodeJS.ProcessEnv {
  return { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };
}
