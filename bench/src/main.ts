import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { exitOnSignals } from "@parley/test-support";
import { InvalidArgumentError, program } from "commander";
import { answers } from "./benchmarks/answers.ts";
import type { Benchmark, Figure } from "./benchmarks/benchmark.ts";
import { challenge } from "./benchmarks/challenge.ts";
import { concurrentStreams } from "./benchmarks/concurrent-streams.ts";
import { config } from "./benchmarks/config.ts";
import { exportSession } from "./benchmarks/export.ts";
import { firstToken } from "./benchmarks/first-token.ts";
import { footprint } from "./benchmarks/footprint.ts";
import { gap } from "./benchmarks/gap.ts";
import { growth } from "./benchmarks/growth.ts";
import { native } from "./benchmarks/native.ts";
import { neighbour } from "./benchmarks/neighbour.ts";
import { overload } from "./benchmarks/overload.ts";
import { ownerIndexes } from "./benchmarks/owner-indexes.ts";
import { owners } from "./benchmarks/owners.ts";
import { reserve } from "./benchmarks/reserve.ts";
import { resume } from "./benchmarks/resume.ts";
import { retrieval } from "./benchmarks/retrieval.ts";
import { start } from "./benchmarks/start.ts";
import { turnCost } from "./benchmarks/turn-cost.ts";
import { visitorToken } from "./benchmarks/visitor-token.ts";
import { waiting } from "./benchmarks/waiting.ts";
import { webhook } from "./benchmarks/webhook.ts";

const BENCHMARKS: Benchmark[] = [
  turnCost,
  visitorToken,
  webhook,
  challenge,
  firstToken,
  gap,
  concurrentStreams,
  footprint,
  config,
  reserve,
  exportSession,
  growth,
  start,
  retrieval,
  answers,
  native,
  neighbour,
  overload,
  resume,
  waiting,
  owners,
  ownerIndexes,
];

const NAMES = BENCHMARKS.map(({ name }) => name);
const RESULTS = fileURLToPath(new URL("../results/", import.meta.url));

program
  .name("pnpm bench")
  .description("Run Parley's benchmarks.")
  .argument("[names...]", `Select benchmarks (default: all): ${NAMES.join(", ")}.`)
  .option("--rounds <n>", "Set the number of rounds.", parseRounds, 5)
  .option("--profile", "Save each service's CPU profile (turn-cost only).")
  .option("--quick", "Check that the benchmarks work; save no results.")
  .action(async (names: string[], options: { rounds: number; quick?: boolean; profile?: boolean }) => {
    const unknown = names.filter((name) => !NAMES.includes(name));
    if (unknown.length > 0) program.error(`unknown benchmark: ${unknown.join(", ")}; use ${NAMES.join(", ")}`);
    const runOptions = {
      ...(options.quick ? { rounds: 1, scale: 0.05 } : { rounds: options.rounds, scale: 1 }),
      ...(options.profile && { profileDir: join(RESULTS, "profiles") }),
    };
    const results: Record<string, Figure[]> = {};
    for (const benchmark of BENCHMARKS.filter(({ name }) => names.length === 0 || names.includes(name))) {
      console.log(`\n${benchmark.name}: ${benchmark.description}`);
      const figures = await benchmark.run(runOptions, (line) => console.log(`  ${line}`));
      const withHints = figures.map((figure) =>
        figure.met ? figure : { ...figure, limitation: benchmark.hintIfMissed },
      );
      results[benchmark.name] = withHints;
      // Saves after each benchmark, so that an interrupted run keeps its results.
      if (!options.quick) await save({ [benchmark.name]: withHints });
    }
    print(results);
  });

/** Refuses 0: without a round, every median would be 0 and would meet every goal of the form `≤ n`. */
function parseRounds(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

function print(results: Record<string, Figure[]>): void {
  console.log("");
  for (const [name, figures] of Object.entries(results)) {
    for (const { what, value, unit, goal, met, detail, limitation } of figures) {
      console.log(
        `${met ? "met    " : "NOT MET"}  ${name.padEnd(12)} ${what.padEnd(30)} ${value.toFixed(2)} ${unit}  (goal ${goal})  ${detail}`,
      );
      if (limitation !== undefined) console.log(`         hint: ${limitation}`);
    }
  }
}

async function save(results: Record<string, Figure[]>): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  const at = new Date().toISOString();
  const path = join(RESULTS, `${at.slice(0, 10)}.json`);
  const earlier = await readFile(path, "utf8").then(
    (text) => (JSON.parse(text) as { results: Record<string, Figure[]> }).results,
    () => ({}),
  );
  // Keeps the results of other benchmarks in today's file.
  const document = { at, node: process.version, results: { ...earlier, ...results } };
  await writeFile(path, `${JSON.stringify(document, null, 2)}\n`);
}

exitOnSignals();
await program.parseAsync();
process.exit(0);
