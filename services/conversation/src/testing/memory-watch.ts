import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const EVERY_MS = 5;
const MiB = 1024 * 1024;

/** The largest values seen while a process and its children were watched, in MiB. */
export type MemoryPeaks = { own: number; child: number; together: number; children: number };

/** Ids of the processes that a process has started. */
export function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return threads.flatMap((thread) =>
      (readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8").match(/\d+/g) ?? []).map(Number),
    );
  } catch {
    // It has ended meanwhile.
    return [];
  }
}

/** Watches the memory of a process and its children during `work`, by the kernel's high-water marks (VmHWM). */
export async function watchMemory<T>(pid: number, work: () => Promise<T>): Promise<{ result: T; peaks: MemoryPeaks }> {
  // Sets the high-water mark to what the process holds now.
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
  const peaks = { own: 0, child: 0, together: 0, children: 0 };
  const look = () => {
    const children = childrenOf(pid);
    peaks.own = Math.max(peaks.own, highWaterMark(pid));
    peaks.child = Math.max(peaks.child, ...children.map(highWaterMark));
    peaks.children = Math.max(peaks.children, children.length);
    peaks.together = peaks.own + peaks.child;
  };
  const timer = setInterval(look, EVERY_MS);
  try {
    const result = await work();
    look();
    return { result, peaks };
  } finally {
    clearInterval(timer);
  }
}

function highWaterMark(pid: number): number {
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Math.ceil((Number(kilobytes ?? 0) * 1_024) / MiB);
  } catch {
    return 0;
  }
}
