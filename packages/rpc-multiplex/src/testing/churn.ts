import { ActiveMap } from "../active-map.ts";

// A script for `node --expose-gc`. Its argument, "active-map" or "map", selects the kind of map. Adds 5,000 values to the map and removes
// each value after ten more were added. Meanwhile runs minor garbage collections. Prints how many kilobytes of removed values remain for a
// full collection.

const VALUES = 5_000;
const VALUES_AT_ONCE = 10;
const collect = globalThis.gc;
if (collect === undefined) throw new Error("run with --expose-gc");
const collectYoung = () => collect({ type: "minor", execution: "sync" });

const map = process.argv[2] === "active-map" ? new ActiveMap<number, object>() : new Map<number, object>();
for (let key = -VALUES_AT_ONCE; key < 0; key++) map.set(key, {});
// Moves the map to the old generation.
collect();
collect();
for (let key = 0; key < VALUES; key++) {
  // About 1 kB.
  map.set(key, { content: new Array(125).fill(key) });
  map.delete(key - VALUES_AT_ONCE);
  if (key % 100 === 0) collectYoung();
}
collectYoung();
collectYoung();
const before = process.memoryUsage().heapUsed;
collect();
process.stdout.write(String(Math.round((before - process.memoryUsage().heapUsed) / 1_000)));
