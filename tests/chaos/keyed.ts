// pnpm test:resume [--minutes 10]: the long version of tests/resume/chaos.fault.test.ts. Exits 1 if a reply was lost or duplicated, or hangs.
import { parseArgs } from "node:util";
import { exitOnSignals } from "@parley/test-support";
import { runKeyedChaos } from "../system/faults/keyed-chaos.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error("--minutes must be a number above 0");
exitOnSignals();

console.log(`reading replies with idempotency keys for ${minutes} minutes, while processes are killed`);
const result = await runKeyedChaos({
  seconds: minutes * 60,
  visitors: 12,
  edgeLeaseSeconds: 5,
  settleTimeoutMs: 60_000,
  minFaults: 0,
});
const { keys, turns, charges, readers, stops, erasures, kills, databaseRestarts, lost, duplicated, hung } = result;
for (const [name, problems] of Object.entries({ lost, duplicated, hung }))
  for (const problem of problems) console.log(`${name}: ${problem}`);
console.log(`idempotency keys ${keys}  turns ${turns}  charges ${charges}  readers ${readers}`);
console.log(`stops ${stops}  erasures ${erasures}  kills ${kills}  database restarts ${databaseRestarts}`);
console.log(`${lost.length} lost, ${duplicated.length} duplicated, ${hung.length} hung`);
process.exit(lost.length + duplicated.length + hung.length === 0 ? 0 : 1);
