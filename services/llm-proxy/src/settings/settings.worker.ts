import { readFileSync } from "node:fs";
import type { Lifecycle, Logger } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import type { Catalog } from "../providers/index.ts";
import { type ModelEnvironment, settingsFromEnvironment } from "./environment.ts";
import { SettingsError } from "./error.ts";
import { parseSettings, unknownModels } from "./parse.ts";
import type { Settings } from "./settings.ts";

export type LoadOptions = ModelEnvironment & { llmConfigPath: string | undefined };

/** Reads providers and routes from the file, or without one from the environment. Throws SettingsError when they cannot be used. */
export function loadSettings(options: LoadOptions): Settings {
  if (options.llmConfigPath !== undefined) return parseSettings(readText(options.llmConfigPath), options);
  const settings = settingsFromEnvironment(options);
  const problems = unknownModels(settings);
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new SettingsError([`LLM_CONFIG cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
}

const POLL_MS = 1_000;

/**
 * Reads the file again whenever it changes; one that is wrong is refused with one log line and changes nothing. It is polled: a
 * mounted ConfigMap changes by swapping a link above the file, which watching the file itself does not see. What counts is its text,
 * so no change is missed, whenever it comes.
 */
export function watchSettings(
  options: LoadOptions,
  catalog: Pick<Catalog, "apply">,
  reloads: Metrics["configReloads"],
  log: Logger,
  lifecycle: Lifecycle,
): void {
  const { llmConfigPath: path } = options;
  if (path === undefined) return;
  let seen: string | undefined;
  const poll = () => {
    const text = textOrError(path);
    if (text === seen) return;
    const isFirst = seen === undefined;
    seen = text;
    try {
      catalog.apply(loadSettings(options));
      // What was read at the start a moment ago is in force already.
      if (isFirst) return;
      reloads.inc({ result: "applied" });
      log.info("providers and routes reloaded");
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      reloads.inc({ result: "refused" });
      log.error({ problems: error.problems }, "LLM_CONFIG refused; what was in force stays");
    }
  };
  poll();
  const timer = setInterval(poll, POLL_MS);
  timer.unref();
  lifecycle.onClose("LLM_CONFIG watch", () => clearInterval(timer));
}

/** The file's text; one that cannot be read is told apart from every text by its error. */
function textOrError(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return `\0${(error as NodeJS.ErrnoException).code}`;
  }
}
