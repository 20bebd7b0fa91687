import type { CallAdmin } from "./admin/call.ts";
import type { AdminTarget } from "./admin/target.ts";
import type { Config } from "./config.ts";
import type { Result } from "./output/result.ts";

/** The dependencies of every command. */
export type Context = {
  config: Config;
  /** Calls the admin services of `target`. */
  callAdmin: CallAdmin;
  /** Returns the installation whose URLs the environment sets. If the environment sets none, returns the installation on this machine. */
  target: () => Promise<AdminTarget>;
  /** Writes the command's result as text or JSON. */
  report: (result: Promise<Result>) => Promise<void>;
  /** Writes a progress line to stderr, except with --json. */
  progress: (line: string) => void;
  /** Writes a line for the user to stderr, even with --json. */
  notice: (line: string) => void;
  /** Writes an error to stderr, with the prefix `parley: `. The command may continue. */
  printError: (message: string) => void;
  /** Returns whether --json is set. */
  isJsonOutput: () => boolean;
  stdout: NodeJS.WritableStream;
  stdin: NodeJS.ReadableStream | undefined;
};
