// pnpm test:chaos [--minutes 5]: the long version of tests/usage-accounting/chaos.fault.test.ts. In this version the database, the network
// to the database and the clocks fail too. Exits 1 in these cases:
// - usage does not reconcile;
// - after a fault of the database, the network or the clocks, the first complete reply comes later than the fault's limit: 2 minutes
//   if the database stalled or the clocks jumped, otherwise 30 s;
// - fewer than 50 replies completed in the 2 minutes between a backup and its restore, so the restore tested too little.
import { parseArgs } from "node:util";
import { exitOnSignals } from "@parley/test-support";
import { runChaos } from "../system/faults/chaos.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "5" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error("--minutes must be a number above 0");
exitOnSignals();

console.log(
  `killing random processes and injecting faults of the database, the network and the clocks for ${minutes} minutes, under load`,
);
const result = await runChaos({
  seconds: minutes * 60,
  visitors: 16,
  pauseMs: 0,
  edgeLeaseSeconds: 30,
  settleTimeoutMs: 60_000,
  minKills: 0,
  minReplies: 0,
  hasDatabaseFaults: true,
  progress: (line) => console.log(line),
});
const { visits, kills, done, used, ledger, held, lostReplies, receivedReplies, repairs, differences } = result;
console.log("\nfault                          count  slowest recovery   limit");
console.log(`${"process or connection killed".padEnd(30)} ${String(kills).padStart(5)}`);
for (const { fault, count, slowestRecoverySeconds, recoveryLimitSeconds } of result.faults)
  console.log(
    `${fault.padEnd(30)} ${String(count).padStart(5)}  ${`${slowestRecoverySeconds.toFixed(1)} s`.padStart(16)}  ${`${recoveryLimitSeconds} s`.padStart(6)}`,
  );
console.log(`\nvisits ${visits}  done messages ${done}  used ${used}  ledger ${ledger}  held ${held}`);
console.log(
  `replies received ${receivedReplies}, lost by restores ${lostReplies}, differences repaired at the end ${repairs}`,
);
console.log("outcomes of the visits:", result.outcomes);
console.log(
  `differences that parley usage-audit reports ${differences}, workspace-months out of balance ${result.unbalanced}`,
);
const isBalanced =
  done === used &&
  used === ledger &&
  held === 0 &&
  result.streaming === 0 &&
  differences === 0 &&
  result.unbalanced === 0 &&
  receivedReplies <= done + lostReplies;
console.log(isBalanced ? "usage reconciles" : "USAGE DOES NOT RECONCILE");
const late = result.faults.filter((fault) => fault.slowestRecoverySeconds > fault.recoveryLimitSeconds);
for (const { fault, recoveryLimitSeconds } of late) console.log(`NO REPLY WITHIN ${recoveryLimitSeconds} S: ${fault}`);
if (result.restoresAfterFewReplies > 0)
  console.log(`${result.restoresAfterFewReplies} BACKUPS WERE RESTORED AFTER FEWER THAN 50 REPLIES`);
process.exit(isBalanced && late.length === 0 && result.restoresAfterFewReplies === 0 ? 0 : 1);
