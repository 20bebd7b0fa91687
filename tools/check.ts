import { availableParallelism } from "node:os";
import { styleText } from "node:util";
import { CHECKS, type Check } from "./checks.ts";
import { NotCheckedError, type Problems } from "./problems.ts";

/** Runs the named checks, by default all. Prints one line per finished check, then the problems of the failed checks. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => CHECKS.every((check) => check.name !== name));
  if (unknown.length > 0) {
    process.stderr.write(
      `unknown check ${unknown.join(", ")}, use one of: ${CHECKS.map(({ name }) => name).join(", ")}\n`,
    );
    return 2;
  }
  const queue = CHECKS.filter(({ name }) => names.length === 0 || names.includes(name));
  const findings: string[] = [];
  const worker = async () => {
    for (let check = queue.shift(); check; check = queue.shift()) findings.push(...(await runAndReport(check)));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  for (const finding of findings) process.stdout.write(`\n${finding}\n`);
  return findings.length === 0 ? 0 : 1;
}

async function runAndReport({ title, run }: Check): Promise<string[]> {
  const startedAt = performance.now();
  const outcome = await run().catch((error: unknown) => {
    if (error instanceof NotCheckedError) return error;
    throw error;
  });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(5);
  process.stdout.write(`${formatSign(outcome)} ${seconds} s  ${title}\n`);
  if (outcome instanceof NotCheckedError) {
    process.stdout.write(styleText("yellow", `           NOT CHECKED: ${outcome.message}\n`));
    return [];
  }
  return outcome.length === 0 ? [] : [`${styleText("bold", title)}\n${outcome.join("\n")}`];
}

function formatSign(outcome: Problems | NotCheckedError): string {
  if (outcome instanceof NotCheckedError) return styleText("yellow", "!");
  return outcome.length === 0 ? styleText("green", "✓") : styleText("red", "✗");
}

process.exitCode = await main(process.argv.slice(2));
