/** Unlike elapsed time, a thread's CPU time does not include waiting for a core on a busy machine. */
export function readThreadCpuTimeMs(): number {
  // Node.js 22 cannot measure a thread's CPU time, so elapsed time replaces it. Parley's packages include Node.js 24 except on macOS.
  if (process.threadCpuUsage === undefined) return performance.now();
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
