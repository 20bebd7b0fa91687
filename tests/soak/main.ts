// pnpm test:soak [--minutes 30] [--visitors 12]: mixed load with faults. Exit 1 when anything hung, had no end, is held, or grew.
import { parseArgs } from "node:util";
import { runSoak } from "../system/soak.ts";
import { growth, verdict } from "./verdict.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "30" }, visitors: { type: "string", default: "12" } },
});
const [minutes, visitors] = [Number(values.minutes), Number(values.visitors)];
if (!(minutes > 0 && visitors > 0)) throw new Error("--minutes and --visitors must be numbers above 0");

console.log(`${visitors} visitors and a network with faults for ${minutes} minutes`);
const { ends, left, hangs, unended, open, balance, memory } = await runSoak({
  minutes,
  visitors,
  progress: (line) => console.log(line),
});
const warmUpMs = (minutes * 60_000) / 3;
const growths = Object.fromEntries(
  Object.entries(memory).map(([name, samples]) => [name, growth(samples, warmUpMs)] as const),
);
const { done, used, ledger, held, streaming, outbox, unbalanced } = balance;
const counts = { hangs, unended, open, held, streaming, outbox, unbalanced };
console.log("what visitors saw:", ends, `and ${left} left amid their reply`);
console.log(`done messages ${done}  used ${used}  ledger ${ledger}`, counts);
console.log(`resident memory from minute ${warmUpMs / 60_000} on:`);
for (const [name, { mibAnHour, mib }] of Object.entries(growths))
  console.log(`  ${name.padEnd(16)} ${mibAnHour} MiB an hour (${mib} MiB in all)`);
const failures = [...(done > 0 ? [] : ["no reply was done"]), ...verdict(counts, growths)];
for (const failure of failures) console.log(`FAILED  ${failure}`);
process.exit(failures.length === 0 ? 0 : 1);
