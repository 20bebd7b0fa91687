/** Running process groups that tests have started. */
const groups = new Set<number>();

process.on("exit", killLeftovers);

/** Registers the process group that `pid` leads. `killLeftovers` kills it at the end of the test file or when this process exits. */
export function trackGroup(pid: number): void {
  groups.add(pid);
}

/** Kills the remaining processes of a group whose leader, `pid`, has exited, and removes the group. */
export function killAndUntrackGroup(pid: number): void {
  killGroup(pid);
  groups.delete(pid);
}

/** Synchronous, because it also runs while this process exits. */
export function killLeftovers(): void {
  for (const pid of groups) killGroup(pid);
  groups.clear();
}

/** Handles SIGTERM. */
export function killLeftoversAndExit(): void {
  killLeftovers();
  process.exit(143);
}

/**
 * Exits on Ctrl-C or SIGTERM, for scripts that run outside of Vitest and start processes. By default, these signals end a process
 * without running its exit handlers, so the processes that it started keep running.
 */
export function exitOnSignals(): void {
  process.once("SIGINT", () => process.exit(130)).once("SIGTERM", () => process.exit(143));
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // ESRCH: every process of the group has exited.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
