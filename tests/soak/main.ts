// pnpm test:soak [--minutes 30] [--visitors 12]: runs mixed load with faults. Exits with 1 if no reply completed, or if there was a hang, an
// incomplete or open stream, an open turn, an unsettled hold, an unsent settlement, usage that does not balance or a memory leak.
import { parseArgs } from "node:util";
import { runSoak } from "../system/soak.ts";
import { findFailures, measureGrowth } from "./evaluation.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "30" }, visitors: { type: "string", default: "12" } },
});
const [minutes, visitors] = [Number(values.minutes), Number(values.visitors)];
if (!(minutes > 0 && visitors > 0)) throw new Error("--minutes and --visitors must be numbers above 0");

console.log(`running ${visitors} visitors with network faults for ${minutes} minutes`);
const { outcomes, disconnected, hangs, incomplete, openStreams, balance, memory } = await runSoak({
  minutes,
  visitors,
  progress: (line) => console.log(line),
});
const warmUpMs = (minutes * 60_000) / 3;
const growths = Object.fromEntries(
  Object.entries(memory).map(([name, samples]) => [name, measureGrowth(samples, warmUpMs)] as const),
);
const { done, used, ledger, held, streaming, outbox, unbalanced } = balance;
const counts = { hangs, incomplete, openStreams, held, streaming, outbox, unbalanced };
console.log("outcomes of the visits:", outcomes, `and ${disconnected} visits that disconnected during the reply`);
console.log(`done messages ${done}  used ${used}  ledger ${ledger}`, counts);
console.log(`growth of resident memory from minute ${warmUpMs / 60_000} on:`);
for (const [name, { mibPerHour, mib }] of Object.entries(growths))
  console.log(`  ${name.padEnd(16)} ${mibPerHour} MiB per hour (${mib} MiB in total)`);
const failures = [...(done > 0 ? [] : ["no reply completed"]), ...findFailures(counts, growths)];
for (const failure of failures) console.log(`FAILED  ${failure}`);
process.exit(failures.length === 0 ? 0 : 1);
