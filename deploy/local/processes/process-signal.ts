import { systemCode } from "../errors.ts";

/** Sends a signal to a process, or to a process group for a negative PID. Ignores a process that has exited. */
export function signalIfExists(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}
