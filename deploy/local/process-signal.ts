import { systemCode } from "./errors.ts";

/** Sends a signal to a process, or to a process group by its negative id; one that has ended is left in peace. */
export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}
