import { readdirSync, readFileSync } from "node:fs";
import { sum } from "./statistics.ts";

/** The unit of CPU times in /proc: 1/USER_HZ, and USER_HZ is 100 on every Linux platform that Node supports. */
const TICK_MS = 10;

/** Returns the CPU time of a process so far: all threads, user and kernel mode. */
export function cpuMs(pid: number): number {
  const { utime, stime } = readStat(pid);
  return (utime + stime) * TICK_MS;
}

/** Returns the CPU time of a process and its children so far. Includes children that have ended, if the process has waited for them. */
export function cpuMsWithChildren(pid: number): number {
  const { utime, stime, endedChildrenUtime, endedChildrenStime } = readStat(pid);
  return (
    (utime + stime + endedChildrenUtime + endedChildrenStime) * TICK_MS +
    sum(childrenOf(pid).map((child) => (child.utime + child.stime) * TICK_MS))
  );
}

function childrenOf(pid: number) {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((each) => statIfRunning(Number(each)) ?? []).filter(({ parent }) => parent === pid);
}

function statIfRunning(pid: number) {
  try {
    return { pid, ...readStat(pid) };
  } catch {
    return undefined;
  }
}

function readStat(pid: number) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // Skips fields 1 and 2, because field 2, the process name in parentheses, may contain spaces. proc(5) lists the field numbers.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return {
    parent: field(4),
    utime: field(14),
    stime: field(15),
    endedChildrenUtime: field(16),
    endedChildrenStime: field(17),
  };
}

export function residentBytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? 0) * 1024;
}

/** Returns the resident memory of a process and its children. Shared memory counts once for each process. */
export function residentBytesWithChildren(pid: number): number {
  return sum([pid, ...childrenOf(pid).map((child) => child.pid)].map(residentOrZero));
}

/** Samples a value now and every `intervalMs` while `work` runs. Returns the work's result and the largest value. */
export async function measurePeak<T>(
  sample: () => number,
  intervalMs: number,
  work: () => Promise<T>,
): Promise<{ result: T; peak: number }> {
  let peak = sample();
  const timer = setInterval(() => {
    peak = Math.max(peak, sample());
  }, intervalMs);
  try {
    const result = await work();
    return { result, peak };
  } finally {
    clearInterval(timer);
  }
}

/** Returns 0 for a process that has ended. */
function residentOrZero(pid: number): number {
  try {
    return residentBytes(pid);
  } catch {
    return 0;
  }
}
