import { availableParallelism, loadavg } from "node:os";

/** Returns the factor by which other processes slow this one down, estimated from the load average. */
export function loadFactor(): number {
  const [load = 0] = loadavg();
  return Math.max(1, load / availableParallelism());
}
