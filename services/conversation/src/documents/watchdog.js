import { workerData } from "node:worker_threads";

// Kills the process that it is a thread of when that holds too much memory or has lost its parent. A thread, because a document can keep the
// main thread busy for minutes. Resident memory, because V8's limits do not count typed arrays. Plain JavaScript, because a second thread
// that strips types takes 13 MB more.

const CHECK_EVERY_MS = 5;

const { parentPid, maxMemoryBytes } = workerData;

setInterval(() => {
  if (process.memoryUsage.rss() > maxMemoryBytes || process.ppid !== parentPid) process.kill(process.pid, "SIGKILL");
}, CHECK_EVERY_MS);
