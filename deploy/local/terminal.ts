import { styleText } from "node:util";
import { printable } from "@parley/cli";
import type { Notice } from "./processes/supervisor.ts";

export type Terminal = ReturnType<typeof createTerminal>;

const LABEL_WIDTH = 12;
const DETAIL_WIDTH = 52;
/** A notice that was shown less than this time ago is not shown again. */
const REPEAT_INTERVAL_MS = 10_000;

/** Writes the output of the start command: steps with durations, notices of processes and the error line of a failure. */
export function createTerminal(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream) {
  const style = (format: Parameters<typeof styleText>[0], text: string) => styleText(format, text, { stream: stdout });
  const lastShownMs = new Map<string, number>();
  let runningStepText = "";

  /** Writes a line above the running step. */
  function writeLine(text: string): void {
    stdout.write(runningStepText === "" ? `${text}\n` : `\r\x1b[K${text}\n${runningStepText}`);
  }

  function finishStep(text: string): void {
    stdout.write(`${runningStepText === "" ? "" : "\r\x1b[K"}${text}\n`);
    runningStepText = "";
  }

  async function runStep<T>(label: string, work: () => Promise<T>, describe: (result: T) => string): Promise<T> {
    const startedAt = performance.now();
    if (stdout.isTTY) {
      runningStepText = `  ${style("dim", "…")} ${label}`;
      stdout.write(runningStepText);
    }
    try {
      const result = await work();
      const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
      const detail = describe(result).padEnd(DETAIL_WIDTH);
      finishStep(
        `  ${style("green", "✓")} ${label.padEnd(LABEL_WIDTH)} ${detail} ${style("dim", seconds.padStart(7))}`,
      );
      return result;
    } catch (error) {
      finishStep(`  ${style("red", "✗")} ${label}`);
      throw error;
    }
  }

  function showNotice({ name, level, text }: Notice): void {
    const now = performance.now();
    const key = `${name} ${text}`;
    const lastMs = lastShownMs.get(key);
    if (lastMs !== undefined && now - lastMs < REPEAT_INTERVAL_MS) return;
    lastShownMs.set(key, now);
    const sign = { info: style("green", "✓"), warn: style("yellow", "!"), error: style("red", "✗") }[level];
    writeLine(`  ${sign} ${name.padEnd(LABEL_WIDTH)} ${printable(text)}`);
  }

  function showFailure(message: string): void {
    stderr.write(`parley: ${printable(message)}\n`);
  }

  return { writeLine, runStep, showNotice, showFailure };
}
