import { EventEmitter } from "node:events";
import { nodeFlags, startProcess } from "@parley/testing";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { gathered } from "./log-output.ts";

/** Like pino's: takes no flush while it writes, which lasts until the test says so. */
class ScriptedOutput extends EventEmitter {
  kept = "";
  writes: string[] = [];
  isWriting: boolean = false;

  write(line: string): void {
    this.kept += line;
  }

  flush(): void {
    if (this.isWriting) return;
    this.isWriting = true;
    this.writes.push(this.kept);
    this.kept = "";
  }

  written(): void {
    this.isWriting = false;
    this.emit("write", Buffer.byteLength(this.writes.at(-1) ?? ""));
  }
}

describe("lines that are gathered", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    return () => vi.useRealTimers();
  });

  test("the first is written at once, those within 50 ms after it together, and after a quiet time one at once again", () => {
    const output = new ScriptedOutput();
    const lines = gathered(output);
    lines.write("ä\n");
    output.written();
    for (const line of ["b\n", "c\n"]) lines.write(line);
    expect(output.writes).toEqual(["ä\n"]);
    vi.advanceTimersByTime(50);
    output.written();
    expect(output.writes).toEqual(["ä\n", "b\nc\n"]);
    vi.advanceTimersByTime(50);
    expect(vi.getTimerCount()).toBe(0);
    lines.write("d\n");
    expect(output.writes).toEqual(["ä\n", "b\nc\n", "d\n"]);
  });

  test("a line that comes amid a long write is not left behind", () => {
    const output = new ScriptedOutput();
    const lines = gathered(output);
    lines.write("a\n");
    lines.write("b\n");
    vi.advanceTimersByTime(500);
    expect(output.writes).toEqual(["a\n"]);
    output.written();
    vi.advanceTimersByTime(50);
    expect(output.writes).toEqual(["a\n", "b\n"]);
  });
});

test("every line is there, in order, also of a process that exits at once", async () => {
  const logger = new URL("./logger.ts", import.meta.url).href;
  const code = `
    const { createLogger } = await import(${JSON.stringify(logger)});
    const log = createLogger("test", "info");
    for (let n = 0; n < 500; n++) log.info({ n }, "line");
    if (process.argv.includes("exit")) process.exit(3);
    setTimeout(() => log.info({ n: 500 }, "line"), 10);
  `;
  for (const [args, count, exit] of [
    [["exit"], 500, 3],
    [[], 501, 0],
  ] as const) {
    const child = await startProcess({
      name: "lines",
      command: process.execPath,
      args: [...nodeFlags, "--input-type=module", "--eval", code, ...args],
    });
    expect((await child.exited).code).toBe(exit);
    const lines = child.stdout().trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { n: number }).n)).toEqual(
      Array.from({ length: count }, (_, n) => n),
    );
  }
});
