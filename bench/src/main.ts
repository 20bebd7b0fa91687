import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { program } from "commander";
import { config } from "./rows/config.ts";
import { exportRow } from "./rows/export.ts";
import { firstToken } from "./rows/first-token.ts";
import { footprint } from "./rows/footprint.ts";
import { gap } from "./rows/gap.ts";
import { growth } from "./rows/growth.ts";
import { held } from "./rows/held.ts";
import { neighbour } from "./rows/neighbour.ts";
import { reserve } from "./rows/reserve.ts";
import { retrieval } from "./rows/retrieval.ts";
import type { Figure, Row } from "./rows/row.ts";
import { start } from "./rows/start.ts";
import { turnCost } from "./rows/turn-cost.ts";

const ROWS: Row[] = [
  turnCost,
  firstToken,
  gap,
  held,
  footprint,
  config,
  reserve,
  exportRow,
  growth,
  start,
  retrieval,
  neighbour,
];

const RESULTS = fileURLToPath(new URL("../results/", import.meta.url));

program
  .name("pnpm bench")
  .description("Measures Parley against the bare relay, side by side in one run.")
  .argument("[names...]", `rows to run: ${ROWS.map((row) => row.name).join(", ")}; all unless named`)
  .option("--rounds <n>", "rounds a figure; its median is what counts", Number, 5)
  .option("--profile", "keeps a CPU profile of each service under turn-cost's load beside the results")
  .option("--quick", "a glance that shows that everything works; no figure worth quoting")
  .action(async (names: string[], options: { rounds: number; quick?: boolean; profile?: boolean }) => {
    const unknown = names.filter((name) => !ROWS.some((row) => row.name === name));
    if (unknown.length > 0)
      program.error(`no such row: ${unknown.join(", ")}; there are ${ROWS.map((row) => row.name).join(", ")}`);
    const effort = {
      ...(options.quick ? { rounds: 1, scale: 0.05 } : { rounds: options.rounds, scale: 1 }),
      ...(options.profile && { profileDir: join(RESULTS, "profiles") }),
    };
    const results: Record<string, Figure[]> = {};
    for (const row of ROWS.filter(({ name }) => names.length === 0 || names.includes(name))) {
      console.log(`\n${row.name}: ${row.about}`);
      const figures = await row.run(effort, (line) => console.log(`  ${line}`));
      const explained = figures.map((figure) => (figure.met ? figure : { ...figure, inTheWay: row.inTheWay }));
      results[row.name] = explained;
      // A run of an hour that is broken off has measured something all the same.
      if (!options.quick) await keep({ [row.name]: explained });
    }
    print(results);
  });

function print(results: Record<string, Figure[]>): void {
  console.log("");
  for (const [name, figures] of Object.entries(results)) {
    for (const { what, value, unit, goal, met, detail, inTheWay } of figures) {
      console.log(
        `${met ? "met    " : "NOT MET"}  ${name.padEnd(12)} ${what.padEnd(30)} ${value.toFixed(2)} ${unit}  (goal ${goal})  ${detail}`,
      );
      if (inTheWay !== undefined) console.log(`         in the way: ${inTheWay}`);
    }
  }
}

async function keep(results: Record<string, Figure[]>): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  const at = new Date().toISOString();
  const path = join(RESULTS, `${at.slice(0, 10)}.json`);
  const earlier = await readFile(path, "utf8").then(
    (text) => (JSON.parse(text) as { results: Record<string, Figure[]> }).results,
    () => ({}),
  );
  // Rows that were not run this time keep what they had.
  const document = { at, node: process.version, results: { ...earlier, ...results } };
  await writeFile(path, `${JSON.stringify(document, null, 2)}\n`);
}

await program.parseAsync();
process.exit(0);
