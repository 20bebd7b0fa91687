/** Process groups that tests have started and that have not ended. */
const groups = new Set<number>();

process.on("exit", killLeftovers);

/** Has the group killed when the test file, or else this process, ends. */
export function trackGroup(pid: number): void {
  groups.add(pid);
}

/** The group's first process has ended, and whoever it left behind goes with it. */
export function releaseGroup(pid: number): void {
  killGroup(pid);
  groups.delete(pid);
}

/** Kills whatever was not stopped; synchronous, so that it also works while this process exits. */
export function killLeftovers(): void {
  for (const pid of groups) killGroup(pid);
  groups.clear();
}

/** What SIGTERM does to a worker. */
export function endWithoutLeftovers(): void {
  killLeftovers();
  process.exit(143);
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    // ESRCH: all of them have ended, as they should.
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
