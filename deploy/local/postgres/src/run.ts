import { execFile } from "node:child_process";
import { promisify } from "node:util";

export interface SystemUser {
  uid: number;
  gid: number;
}

export interface RunOptions {
  /** Runs the program as this user; needs root. */
  user?: SystemUser | undefined;
  timeoutMs?: number;
}

/** Runs a program and returns its standard output. If the program fails, rejects with an error whose message contains its standard error. */
export async function run(command: string, args: string[], options: RunOptions = {}): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, {
    cwd: "/",
    env: minimalEnvironment(),
    timeout: options.timeoutMs ?? 60_000,
    killSignal: "SIGKILL",
    ...options.user,
  });
  return stdout;
}

/** Returns an environment that inherits no variables, so that no secret and no PG* variable reaches PostgreSQL. */
export function minimalEnvironment(): NodeJS.ProcessEnv {
  return { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", TZ: "UTC" };
}
