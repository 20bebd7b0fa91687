import { Ongoing } from "../ongoing.ts";

// Run with --expose-gc and what is to hold the items, "ongoing" or "set". Begins and ends 5,000 of them, ten under way at a time, and
// prints how many thousands of bytes only a full collection takes away.

const ITEMS = 5_000;
const UNDER_WAY = 10;
const collect = globalThis.gc;
if (collect === undefined) throw new Error("run with --expose-gc");
const young = () => collect({ type: "minor", execution: "sync" });

const set = new Set<object>();
const ongoing = new Ongoing<object>();
const begin = (item: object) => {
  if (process.argv[2] === "ongoing") return ongoing.add(item);
  set.add(item);
  return () => set.delete(item);
};

const removals = Array.from({ length: UNDER_WAY }, () => begin({}));
// Whatever holds them is now old.
collect();
collect();
for (let count = 0; count < ITEMS; count++) {
  removals.push(begin({ content: new Array(125).fill(count) }));
  removals.shift()?.();
  if (count % 100 === 0) young();
}
young();
young();
const before = process.memoryUsage().heapUsed;
collect();
process.stdout.write(String(Math.round((before - process.memoryUsage().heapUsed) / 1_000)));
