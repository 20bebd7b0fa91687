import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { program } from "commander";
import type { Figure, Row } from "./rows/row.ts";
import { turnCost } from "./rows/turn-cost.ts";

const ROWS: Row[] = [turnCost];

program
  .name("pnpm bench")
  .description("Measures Parley against the bare relay, side by side in one run.")
  .argument("[names...]", `rows to run: ${ROWS.map((row) => row.name).join(", ")}; all unless named`)
  .option("--rounds <n>", "rounds a figure; its median is what counts", Number, 5)
  .option("--quick", "a glance that shows that everything works; no figure worth quoting")
  .action(async (names: string[], options: { rounds: number; quick?: boolean }) => {
    const unknown = names.filter((name) => !ROWS.some((row) => row.name === name));
    if (unknown.length > 0)
      program.error(`no such row: ${unknown.join(", ")}; there are ${ROWS.map((row) => row.name).join(", ")}`);
    const effort = options.quick ? { rounds: 1, scale: 0.05 } : { rounds: options.rounds, scale: 1 };
    const results: Record<string, Figure[]> = {};
    for (const row of ROWS.filter(({ name }) => names.length === 0 || names.includes(name))) {
      console.log(`\n${row.name}: ${row.about}`);
      results[row.name] = await row.run(effort, (line) => console.log(`  ${line}`));
    }
    print(results);
    if (!options.quick) await keep(results);
  });

function print(results: Record<string, Figure[]>): void {
  console.log("");
  for (const [name, figures] of Object.entries(results)) {
    for (const { what, value, unit, goal, met, detail } of figures) {
      console.log(
        `${met ? "met    " : "NOT MET"}  ${name.padEnd(12)} ${what.padEnd(30)} ${value.toFixed(2)} ${unit}  (goal ${goal})  ${detail}`,
      );
    }
  }
}

async function keep(results: Record<string, Figure[]>): Promise<void> {
  const dir = fileURLToPath(new URL("../results/", import.meta.url));
  await mkdir(dir, { recursive: true });
  const at = new Date().toISOString();
  await writeFile(
    `${dir}${at.slice(0, 10)}.json`,
    `${JSON.stringify({ at, node: process.version, results }, null, 2)}\n`,
  );
}

await program.parseAsync();
process.exit(0);
