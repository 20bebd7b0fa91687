// pnpm test:chaos [--minutes 5]: the long version of tests/usage-accounting/chaos.test.ts. Exits 1 if usage does not reconcile.
import { parseArgs } from "node:util";
import { runChaos } from "../system/chaos.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error("--minutes must be a number above 0");

console.log(`killing random processes for ${minutes} minutes, under load`);
const result = await runChaos({
  seconds: minutes * 60,
  visitors: 16,
  leaseSeconds: 30,
  settleTimeoutMs: 60_000,
  progress: (line) => console.log(line),
});
const { turns, kills, done, used, ledger, held } = result;
console.log(`turns ${turns}  kills ${kills}  done messages ${done}  used ${used}  ledger ${ledger}  held ${held}`);
console.log("outcomes of the visits:", result.outcomes);
const isBalanced =
  done === used && used === ledger && held === 0 && result.unbalanced === 0 && result.receivedReplies <= done;
console.log(isBalanced ? "usage reconciles" : "USAGE DOES NOT RECONCILE");
process.exit(isBalanced ? 0 : 1);
