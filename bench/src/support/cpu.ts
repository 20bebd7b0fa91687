import { readdirSync, readFileSync } from "node:fs";

// The kernel counts in ticks of 10 ms on every Linux that Node runs on.
const TICK_MS = 10;

/** Milliseconds of CPU that a process has used so far, all its threads, in user and kernel mode. */
export function cpuMs(pid: number): number {
  const { utime, stime } = readStat(pid);
  return (utime + stime) * TICK_MS;
}

/** The same for a process with its children, those that have ended and were waited for among them. */
export function familyCpuMs(pid: number): number {
  const { utime, stime, endedUtime, endedStime } = readStat(pid);
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === pid);
  return (
    (utime + stime + endedUtime + endedStime) * TICK_MS + children.reduce((sum, child) => sum + cpuMs(Number(child)), 0)
  );
}

/** Undefined for a process that has gone meanwhile. */
function parentOf(pid: number): number | undefined {
  try {
    return readStat(pid).parent;
  } catch {
    return undefined;
  }
}

function readStat(pid: number) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name, in parentheses, may hold blanks; what follows begins with the third field of proc(5).
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => Number(fields[number - 3]);
  return { parent: field(4), utime: field(14), stime: field(15), endedUtime: field(16), endedStime: field(17) };
}

/** Resident bytes of a process. */
export function residentBytes(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(match?.[1] ?? 0) * 1024;
}

/** Resident bytes of a process and its children. Memory that they share counts for each. */
export function familyResidentBytes(pid: number): number {
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && parentOf(Number(name)) === pid);
  return [pid, ...children.map(Number)].reduce((sum, member) => sum + residentOrZero(member), 0);
}

/** 0 for a process that has ended. */
function residentOrZero(pid: number): number {
  try {
    return residentBytes(pid);
  } catch {
    return 0;
  }
}
