import { timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Counter } from "prom-client";
import type { Environment } from "./environment.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";
import { runPeriodically } from "./periodic.ts";

/**
 * The accepted tokens of one kind of call. Clients send the first. A rotation adds the new token at the end, makes it the first, and removes
 * the old one. Between the steps every process must have read the list.
 */
export type Tokens = {
  /** Returns the value of the `authorization` header that clients send. */
  authorization(): string;
  /** Returns whether a server accepts a value of the `authorization` header. */
  accepts(authorization: unknown): boolean;
};

/** Tokens separated by white space, or a file that contains them. */
export type TokenSource = { text: string } | { file: string };

export type OpenTokensOptions = {
  /** Counts the reads of a file without a token. */
  refusals?: Counter<"file">;
  refreshIntervalMs?: number;
};

/** How often a file is read again, so that a rotation needs no restart. */
const REFRESH_INTERVAL_MS = 5_000;

/** Reads where the tokens are: the variable NAME_FILE with a path, or the variable NAME with the tokens. `purpose` describes them in the error. */
export function readTokenSource(environment: Environment, name: string, purpose: string): TokenSource {
  const file = environment.optionalText(`${name}_FILE`);
  return file === undefined ? { text: environment.requiredText(name, purpose) } : { file };
}

/** Returns the tokens of a source. Throws if it has none or its file cannot be read. */
export function readTokens(source: TokenSource): string[] {
  const text = "file" in source ? readFileSync(source.file, "utf8") : source.text;
  const tokens = text.split(/\s+/).filter((token) => token !== "");
  if (tokens.length === 0) throw new Error(`${"file" in source ? source.file : "the variable"} contains no token`);
  return tokens;
}

/** Returns fixed tokens. */
export function fixedTokens(...tokens: readonly string[]): Tokens {
  return trackTokens(() => tokens);
}

/**
 * Returns the tokens of a source. Reads a file again every few seconds. Throws if the source has no token. Later, a file without a token is
 * logged, and the previous tokens stay in use.
 */
export function openTokens(
  source: TokenSource,
  log: Pick<Logger, "info" | "warn">,
  lifecycle: Pick<Lifecycle, "onClose" | "closingSignal">,
  { refusals, refreshIntervalMs = REFRESH_INTERVAL_MS }: OpenTokensOptions = {},
): Tokens {
  let current = readTokens(source);
  if ("file" in source) {
    const file = basename(source.file);
    // increase() misses the first increment of a series that does not exist yet.
    refusals?.inc({ file }, 0);
    const readAgain = () => {
      try {
        return readTokens(source);
      } catch (error) {
        refusals?.inc({ file });
        throw error;
      }
    };
    const refresh = async () => {
      const next = readAgain();
      if (next.join("\n") === current.join("\n")) return;
      current = next;
      log.info({ file, accepted: next.length }, "tokens reloaded");
    };
    runPeriodically({ name: `read ${file}`, intervalMs: refreshIntervalMs, run: refresh }, log, lifecycle);
  }
  return trackTokens(() => current);
}

function trackTokens(current: () => readonly string[]): Tokens {
  return {
    authorization: () => `Bearer ${current()[0]}`,
    accepts: (authorization) => current().some((token) => isSameSecret(authorization, Buffer.from(`Bearer ${token}`))),
  };
}

function isSameSecret(value: unknown, expected: Buffer): boolean {
  if (typeof value !== "string") return false;
  const bytes = Buffer.from(value);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}
