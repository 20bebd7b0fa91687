/**
 * Returns the CPU time that this thread has used, in milliseconds. It excludes waiting for a core on a busy machine, so that a
 * workspace is charged only for the work of its patterns.
 */
export function readThreadCpuTimeMs(): number {
  // Node.js 22 cannot measure a thread's CPU time, so elapsed time replaces it. Parley's packages include Node.js 24 except on macOS.
  if (process.threadCpuUsage === undefined) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
