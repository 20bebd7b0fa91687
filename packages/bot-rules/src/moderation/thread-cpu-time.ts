/** Unlike elapsed time, a thread's CPU time does not include waiting for a core on a busy machine. */
export function readThreadCpuTimeMs(): number {
  // On macOS, Parley may run on Node.js 22, which cannot measure a thread's CPU time. This function then returns elapsed time.
  if (process.threadCpuUsage === undefined) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
