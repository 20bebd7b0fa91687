import { workerData } from "node:worker_threads";

// Kills its own process when that holds too much memory, has used its processor time or has lost its parent. A thread, because a document
// can keep the main thread busy for minutes. Resident memory, because V8's limits do not count typed arrays. Plain JavaScript, because a second thread
// that strips types takes 13 MB more.

const CHECK_EVERY_MS = 5;

const { parentPid, maxMemoryBytes, maxCpuMs } = workerData;

setInterval(() => {
  if (process.memoryUsage.rss() > maxMemoryBytes || process.ppid !== parentPid) process.kill(process.pid, "SIGKILL");
  const { user, system } = process.cpuUsage();
  if ((user + system) / 1_000 > maxCpuMs) process.kill(process.pid, "SIGXCPU");
}, CHECK_EVERY_MS);
