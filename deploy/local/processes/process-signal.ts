import { systemCode } from "../errors.ts";

/** Sends a signal to a process, or to a process group if `pid` is negative. Does nothing if there is no such process or group. */
export function signalIfExists(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}
