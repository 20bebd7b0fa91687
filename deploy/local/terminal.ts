import { styleText } from "node:util";
import { printable } from "@parley/cli";
import type { Notice } from "./supervisor.ts";

export type Terminal = ReturnType<typeof createTerminal>;

const LABEL_WIDTH = 12;
const DETAIL_WIDTH = 52;
/** The same notice again within this time says nothing new. */
const REPEAT_MS = 10_000;

/** Writes what people are told of a start: steps with their times, notices of services, and the one line of a failure. */
export function createTerminal(stdout: NodeJS.WriteStream, stderr: NodeJS.WriteStream) {
  const style = (format: Parameters<typeof styleText>[0], text: string) => styleText(format, text, { stream: stdout });
  const lastTold = new Map<string, number>();
  let pending = "";

  /** A line of its own, above the step that is under way. */
  function line(text: string): void {
    stdout.write(pending === "" ? `${text}\n` : `\r\x1b[K${text}\n${pending}`);
  }

  function finishStep(text: string): void {
    stdout.write(`${pending === "" ? "" : "\r\x1b[K"}${text}\n`);
    pending = "";
  }

  /** Does a step of the start and tells what came of it and how long it took. */
  async function step<T>(label: string, work: () => Promise<T>, tell: (result: T) => string): Promise<T> {
    const startedAt = performance.now();
    if (stdout.isTTY) {
      pending = `  ${style("dim", "…")} ${label}`;
      stdout.write(pending);
    }
    try {
      const result = await work();
      const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
      const detail = tell(result).padEnd(DETAIL_WIDTH);
      finishStep(
        `  ${style("green", "✓")} ${label.padEnd(LABEL_WIDTH)} ${detail} ${style("dim", seconds.padStart(7))}`,
      );
      return result;
    } catch (error) {
      finishStep(`  ${style("red", "✗")} ${label}`);
      throw error;
    }
  }

  function notice({ name, level, text }: Notice): void {
    const now = performance.now();
    const key = `${name} ${text}`;
    const last = lastTold.get(key);
    if (last !== undefined && now - last < REPEAT_MS) return;
    lastTold.set(key, now);
    const sign = { info: style("green", "✓"), warn: style("yellow", "!"), error: style("red", "✗") }[level];
    line(`  ${sign} ${name.padEnd(LABEL_WIDTH)} ${printable(text)}`);
  }

  function fail(message: string): void {
    stderr.write(`parley: ${printable(message)}\n`);
  }

  return { line, step, notice, fail };
}
