// pnpm test:chaos [--minutes 5]: the long form of tests/books/chaos.test.ts. Exit 1 when the books do not balance.
import { parseArgs } from "node:util";
import { runChaos } from "../system/chaos.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error("--minutes must be a number above 0");

console.log(`killing processes at random for ${minutes} minutes, under load`);
const result = await runChaos({
  seconds: minutes * 60,
  visitors: 16,
  leaseSeconds: 30,
  settleWithinMs: 60_000,
  progress: (line) => console.log(line),
});
const { turns, kills, done, used, ledger, held } = result;
console.log(`turns ${turns}  kills ${kills}  done messages ${done}  used ${used}  ledger ${ledger}  held ${held}`);
console.log("what visitors saw:", result.ends);
const balanced = done === used && used === ledger && held === 0 && result.unbalanced === 0 && result.seenDone <= done;
console.log(balanced ? "the books balance" : "THE BOOKS DO NOT BALANCE");
process.exit(balanced ? 0 : 1);
