/** Returns the CPU time of `work` in milliseconds. Unlike elapsed time, CPU time hardly depends on the machine's other load. */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
