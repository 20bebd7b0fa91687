import type { Admin } from "./admin/call.ts";
import type { AdminTarget } from "./admin/target.ts";
import type { Config } from "./config.ts";
import type { Result } from "./output/result.ts";

/** What every command is given. */
export type Context = {
  config: Config;
  /** The admin services of the Parley that the environment names or that runs here. */
  admin: Admin;
  /** Where that is. */
  target: () => Promise<AdminTarget>;
  /** Writes what the command found, in the form that was asked for. */
  report: (result: Promise<Result>) => Promise<void>;
  /** Tells people on stderr how far a long command is; says nothing to scripts. */
  progress: (line: string) => void;
  /** Reports on stderr, to people and scripts, an error after which the command goes on. */
  warn: (message: string) => void;
  /** Whether one JSON document was asked for. */
  asJson: () => boolean;
  stdout: NodeJS.WritableStream;
  stdin: NodeJS.ReadableStream | undefined;
};
