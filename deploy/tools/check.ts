import { availableParallelism } from "node:os";
import { styleText } from "node:util";
import { CHECKS, type Check } from "./checks.ts";

/** Runs the checks that are named, or every one. A line each as it ends, then what the failed ones found. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => CHECKS.every((check) => check.name !== name));
  if (unknown.length > 0) {
    process.stderr.write(`no check is named ${unknown.join(", ")}: ${CHECKS.map(({ name }) => name).join(", ")}\n`);
    return 2;
  }
  const waiting = CHECKS.filter(({ name }) => names.length === 0 || names.includes(name));
  const findings: string[] = [];
  const worker = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift()) findings.push(...(await report(check)));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  for (const finding of findings) process.stdout.write(`\n${finding}\n`);
  return findings.length === 0 ? 0 : 1;
}

async function report({ title, run }: Check): Promise<string[]> {
  const startedAt = performance.now();
  const problems = await run();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(5);
  const sign = problems.length === 0 ? styleText("green", "✓") : styleText("red", "✗");
  process.stdout.write(`${sign} ${seconds} s  ${title}\n`);
  return problems.length === 0 ? [] : [`${styleText("bold", title)}\n${problems.join("\n")}`];
}

process.exitCode = await main(process.argv.slice(2));
