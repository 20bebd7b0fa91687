// pnpm test:soak [--minutes 30]: mixed load with faults. Exit 1 when anything hung, ended without an end, or is held.
import { parseArgs } from "node:util";
import { runSoak } from "../support/soak.ts";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "30" }, visitors: { type: "string", default: "12" } },
});
const [minutes, visitors] = [Number(values.minutes), Number(values.visitors)];
if (!(minutes > 0 && visitors > 0)) throw new Error("--minutes and --visitors must be numbers above 0");

console.log(`${visitors} visitors and a network with faults for ${minutes} minutes`);
const { ends, left, hangs, unended, open, balance, slopes } = await runSoak({
  minutes,
  visitors,
  progress: (line) => console.log(line),
});
console.log("what visitors saw:", ends, `and ${left} left amid their reply`);
console.log("resident memory after warm-up, MiB an hour:", slopes);
const { done, used, ledger, held, streaming, outbox, unbalanced } = balance;
console.log(`done messages ${done}  used ${used}  ledger ${ledger}`);
const faults = { hangs, unended, open, held, streaming, outbox, unbalanced };
console.log(faults);
process.exit(Object.values(faults).every((count) => count === 0) ? 0 : 1);
