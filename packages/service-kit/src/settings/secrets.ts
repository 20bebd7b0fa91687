import { readFileSync } from "node:fs";
import { basename } from "node:path";
import type { Counter } from "prom-client";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../process/logger.ts";
import { runPeriodically } from "../process/periodic.ts";

/** Where a secret is: in the variable `name`, or in a file that the variable `<name>_FILE` names. */
export type SecretSource<T> = ({ text: string } | { file: string }) & {
  name: string;
  /**
   * Throws an error if the text is invalid. The caller puts the variable's name or the file's path before the error's message, such as
   * "is empty". The message must not contain the secret.
   */
  parse: (text: string) => T;
};

/** A secret that may change while the process runs. */
export type Secret<T> = {
  current(): T;
  /**
   * Calls the listener after each change, when current() already returns the new content. If the listener throws, calls reportRefusal and
   * then the other listeners.
   */
  onChange(listener: () => void): void;
  /**
   * Logs and counts a refusal. Call it when code that uses the secret keeps the previous content, for example because a server refuses the
   * new content. current() still returns the new content.
   */
  reportRefusal(error: unknown): void;
};

/** A changed file with settings, a secret or a certificate: accepted, or refused so that the previous content stays in use. */
export type Reload = { file: string; result: "accepted" | "refused" };

export type SecretOptions = {
  log: Pick<Logger, "info" | "warn">;
  lifecycle: Pick<Lifecycle, "onClose" | "closingSignal">;
  /** Counts failed reloads of a file, and calls of reportRefusal. */
  reloadRefusals?: Counter<"file">;
  /** Called for each reload: accepted, or refused for a reason that differs from the last one. */
  onReload?: (reload: Reload) => void;
  refreshIntervalMs?: number;
};

const REFRESH_INTERVAL_MS = 5_000;

/** Returns the text without white space at its ends. Throws if it is empty. */
export function parseSecretText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("is empty");
  return trimmed;
}

/** Returns the content of a secret. Throws if its file cannot be read or its content cannot be used. */
export function readSecret<T>(source: SecretSource<T>): T {
  return parseSecret(source, readText(source));
}

/**
 * Reads a secret, and reads its file again every few seconds, so that a rotation needs no restart. Throws if the first content cannot be used.
 * If later content cannot be used, logs and counts the refusal, and keeps the previous content.
 */
export function openSecret<T>(
  source: SecretSource<T>,
  { log, lifecycle, reloadRefusals, onReload, refreshIntervalMs = REFRESH_INTERVAL_MS }: SecretOptions,
): Secret<T> {
  let text = readText(source);
  let value = parseSecret(source, text);
  const listeners: (() => void)[] = [];
  const file = "file" in source ? basename(source.file) : source.name;
  // An unusable file is refused at every refresh.
  let lastRefusal: string | undefined;
  const reportRefusal = (error: unknown) => {
    reloadRefusals?.inc({ file });
    log.warn({ file, error }, "secret refused, previous one kept");
    const refusal = String(error);
    if (refusal !== lastRefusal) onReload?.({ file, result: "refused" });
    lastRefusal = refusal;
  };
  const refresh = async () => {
    try {
      const nextText = readText(source);
      if (nextText === text) return;
      value = parseSecret(source, nextText);
      text = nextText;
      // If the secret is a list, for example of tokens, `accepted` is the number of its entries.
      log.info({ file, ...(Array.isArray(value) && { accepted: value.length }) }, "secret reloaded");
      lastRefusal = undefined;
      onReload?.({ file, result: "accepted" });
    } catch (error) {
      reportRefusal(error);
      return;
    }
    for (const listener of listeners) {
      try {
        listener();
      } catch (error) {
        reportRefusal(error);
      }
    }
  };
  if ("file" in source) {
    // PromQL's increase() misses the first increment of a series that does not exist yet.
    reloadRefusals?.inc({ file }, 0);
    runPeriodically({ name: `read ${file}`, intervalMs: refreshIntervalMs, run: refresh }, log, lifecycle);
  }
  return {
    current: () => value,
    onChange: (listener) => void listeners.push(listener),
    reportRefusal,
  };
}

function readText(source: SecretSource<unknown>): string {
  return "file" in source ? readFileSync(source.file, "utf8") : source.text;
}

/** Parses a secret. Prefixes the parser's error with the secret's variable or file. */
function parseSecret<T>(source: SecretSource<T>, text: string): T {
  try {
    return source.parse(text);
  } catch (error) {
    throw new Error(
      `${"file" in source ? source.file : source.name} ${error instanceof Error ? error.message : error}`,
    );
  }
}
