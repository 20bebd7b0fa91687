import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const SAMPLE_INTERVAL_MS = 5;
const MiB = 1024 * 1024;

/**
 * Peak memory in MiB of a process (`own`) and of its largest child (`child`), the sum of these two (`total`), and the largest number of
 * simultaneous children (`children`).
 */
export type MemoryPeaks = { own: number; child: number; total: number; children: number };

/** Returns the ids of a process's children; none if the process has ended. */
export function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.flatMap((thread) =>
      (readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").match(/\d+/g) ?? []).map(Number),
    );
  } catch {
    return [];
  }
}

/** Measures the peak memory of a process and its children during `work`. Uses the kernel's high-water marks (VmHWM). */
export async function watchMemory<T>(pid: number, work: () => Promise<T>): Promise<{ result: T; peaks: MemoryPeaks }> {
  // Resets the high-water mark to the current memory.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const peaks = { own: 0, child: 0, total: 0, children: 0 };
  const sample = () => {
    const children = childrenOf(pid);
    peaks.own = Math.max(peaks.own, highWaterMark(pid));
    peaks.child = Math.max(peaks.child, ...children.map(highWaterMark));
    peaks.children = Math.max(peaks.children, children.length);
    peaks.total = peaks.own + peaks.child;
  };
  const timer = setInterval(sample, SAMPLE_INTERVAL_MS);
  try {
    const result = await work();
    sample();
    return { result, peaks };
  } finally {
    clearInterval(timer);
  }
}

/** Returns the peak memory of a process in MiB; 0 if the process has ended. */
function highWaterMark(pid: number): number {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Math.ceil((Number(kilobytes ?? 0) * 1_024) / MiB);
  } catch {
    return 0;
  }
}
