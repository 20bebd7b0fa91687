/** Unlike elapsed time, a thread's CPU time does not include waiting for a core on a busy machine. */
export function readThreadCpuTimeMs(): number {
  // Node.js 22, which Parley supports on macOS, cannot measure a thread's CPU time. On that version, this function uses elapsed time.
  if (process.threadCpuUsage === undefined) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
