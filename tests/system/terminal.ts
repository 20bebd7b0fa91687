import { spawn } from "node:child_process";
import { once } from "node:events";
import { findCommand, scrubbedEnv } from "@parley/test-support";
import { vi } from "vitest";
import { root } from "./processes.ts";

/** A command that runs in a pseudo-terminal. */
export type Terminal = {
  /** Returns everything written to the terminal, with control sequences. */
  screen(): string;
  waitFor(text: string, timeoutMs: number): Promise<void>;
  type(keys: string): void;
  /** Resolves with the command's exit code. */
  exited: Promise<number | null>;
  kill(): void;
};

export const CTRL_C = "\u0003";

/** Whether this machine has util-linux's `script`, which creates the pseudo-terminal. */
export const hasTerminal = process.platform === "linux" && findCommand("script") !== undefined;

export function openTerminal(command: string, env: Record<string, string>): Terminal {
  const child = spawn("script", ["--quiet", "--return", "--flush", "--command", command, "/dev/null"], {
    cwd: root,
    env: scrubbedEnv(env),
    stdio: ["pipe", "pipe", "ignore"],
  });
  let screen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    screen += text;
  });
  return {
    screen: () => screen,
    waitFor: async (text, timeoutMs) => {
      await vi.waitFor(() => {
        if (!screen.includes(text)) throw new Error(`the screen does not show "${text}":\n${screen}`);
      }, timeoutMs);
    },
    type: (keys) => void child.stdin.write(keys),
    exited: once(child, "close").then(([code]: (number | null)[]) => code ?? null),
    kill: () => void child.kill("SIGKILL"),
  };
}
