import { parentPort, workerData } from "node:worker_threads";

// A worker thread that kills its process if the process exceeds its memory or CPU limit or loses its parent. Each message starts the CPU limit
// again, for the next document.
// - It is a thread, because a document can keep the main thread busy for minutes.
// - It checks resident memory, because V8's own limits do not include typed arrays.
// - It is JavaScript, because stripping types in a second thread takes 13 MB more.

const CHECK_INTERVAL_MS = 5;

const { parentPid, maxMemoryBytes, maxCpuMs } = workerData;

const readCpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

let startCpuMs = 0;
parentPort.on("message", () => {
  startCpuMs = readCpuMs();
});

setInterval(() => {
  if (process.memoryUsage.rss() > maxMemoryBytes || process.ppid !== parentPid) process.kill(process.pid, "SIGKILL");
  if (readCpuMs() - startCpuMs > maxCpuMs) process.kill(process.pid, "SIGXCPU");
}, CHECK_INTERVAL_MS);
