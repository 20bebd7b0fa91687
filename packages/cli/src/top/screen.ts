import { setTimeout as sleep } from "node:timers/promises";
import type { ReadStream, WriteStream } from "node:tty";

const ENTER_ALTERNATE_SCREEN = "\u001b[?1049h\u001b[?25l";
const LEAVE_ALTERNATE_SCREEN = "\u001b[?25h\u001b[?1049l";
// Synchronized update: terminals that support it show everything between BEGIN_UPDATE and END_UPDATE in one step.
const BEGIN_UPDATE = "\u001b[?2026h\u001b[H";
const END_UPDATE = "\u001b[J\u001b[?2026l";
const ERASE_TO_LINE_END = "\u001b[K";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

export type Screen = {
  size(): { width: number; height: number };
  /** Overwrites the screen line by line without clearing it, to avoid flicker. */
  show(lines: readonly string[]): void;
  /** Aborted when the user presses q, Ctrl-C or Ctrl-D, or the process receives SIGINT, SIGTERM or SIGHUP. */
  ended: AbortSignal;
  onResize(draw: () => void): void;
  close(): void;
};

/** Switches the terminal to the alternate screen until `close`. */
export function openScreen(stdout: WriteStream, stdin: ReadStream | undefined): Screen {
  const end = new AbortController();
  const stop = () => end.abort();
  const onKey = (keys: Buffer) => {
    if (/[qQ]/.test(String(keys)) || keys.includes(CTRL_C) || keys.includes(CTRL_D)) stop();
  };
  const isKeyboard = stdin?.isTTY === true;
  if (isKeyboard) stdin.setRawMode(true).resume().on("data", onKey);
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.once(signal, stop);
  stdout.write(ENTER_ALTERNATE_SCREEN);
  let resizeListener: (() => void) | undefined;
  return {
    size: () => ({ width: stdout.columns || 80, height: stdout.rows || 24 }),
    show(lines) {
      stdout.write(`${BEGIN_UPDATE}${lines.map((line) => line + ERASE_TO_LINE_END).join("\r\n")}${END_UPDATE}`);
    },
    ended: end.signal,
    onResize(redraw) {
      resizeListener = redraw;
      stdout.on("resize", redraw);
    },
    close() {
      if (resizeListener) stdout.off("resize", resizeListener);
      for (const signal of signals) process.off(signal, stop);
      if (isKeyboard) stdin.off("data", onKey).setRawMode(false).pause();
      stdout.write(LEAVE_ALTERNATE_SCREEN);
    },
  };
}

/** Waits for `ms` or until `ended` aborts. */
export async function pause(ms: number, ended?: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, ended && { signal: ended });
  } catch (error) {
    if (!ended?.aborted) throw error;
  }
}

/** Returns the work's result, or undefined as soon as `ended` aborts. */
export async function awaitUnlessAborted<T>(work: Promise<T>, ended: AbortSignal): Promise<T | undefined> {
  const { promise: end, resolve } = Promise.withResolvers<undefined>();
  const stop = () => resolve(undefined);
  if (ended.aborted) stop();
  ended.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, end]);
  } finally {
    // Otherwise the listener would keep the work's result in memory until `ended` aborts.
    ended.removeEventListener("abort", stop);
  }
}
