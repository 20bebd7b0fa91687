import { readFileSync } from "node:fs";
import type { Counter, Lifecycle, Logger, Reload } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import type { ProviderCatalog } from "../providers/index.ts";
import { type ModelEnvironment, settingsFromEnvironment } from "./environment.ts";
import { SettingsError } from "./error.ts";
import { findUnknownModels, parseSettings } from "./parse.ts";
import type { Secrets } from "./secrets.worker.ts";
import type { Settings } from "./settings.ts";

export type LoadOptions = ModelEnvironment & { llmConfigPath: string | undefined };

/** Loads the settings from the file that LLM_CONFIG names, or from the environment when LLM_CONFIG is not set. Throws SettingsError. */
export function loadSettings(options: LoadOptions): Settings {
  if (options.llmConfigPath !== undefined) return parseSettings(readConfigText(options.llmConfigPath), options);
  const settings = settingsFromEnvironment(options);
  const problems = findUnknownModels(settings);
  if (problems.length > 0) throw new SettingsError(problems);
  return settings;
}

function readConfigText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new SettingsError([`LLM_CONFIG cannot be read (${(error as NodeJS.ErrnoException).code})`]);
  }
}

const POLL_INTERVAL_MS = 1_000;

/**
 * Applies the settings whenever the file's text or a secret changes. An invalid file is refused, and the previous settings stay. A refused file
 * is tried again at every poll, because a secret that it names may become usable later. Polls the file, because a watcher of the file gets no
 * event when the kubelet updates a mounted ConfigMap: the kubelet replaces a link to the file's directory.
 */
export function watchSettings(
  options: LoadOptions,
  catalog: Pick<ProviderCatalog, "applySettings">,
  {
    reloads,
    reloadRefusals,
    onReload,
  }: { reloads: Metrics["configReloads"]; reloadRefusals: Counter<"file">; onReload: (reload: Reload) => void },
  { secrets, log, lifecycle }: { secrets: Pick<Secrets, "onChange">; log: Logger; lifecycle: Lifecycle },
): void {
  let isRefused = false;
  const apply = ({ isFromFile = false, isFirst = false, isRetry = false } = {}) => {
    try {
      catalog.applySettings(loadSettings(options));
      isRefused = false;
      if (isFirst) return;
      reloads.inc({ result: "applied" });
      log.info("provider settings reloaded");
      if (isFromFile) onReload({ file: "LLM_CONFIG", result: "accepted" });
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      isRefused = true;
      if (isRetry) return;
      reloads.inc({ result: "refused" });
      reloadRefusals.inc({ file: "LLM_CONFIG" });
      onReload({ file: "LLM_CONFIG", result: "refused" });
      log.error({ problems: error.problems }, "LLM_CONFIG refused, previous settings kept");
    }
  };
  secrets.onChange(() => apply());
  const { llmConfigPath: path } = options;
  if (path === undefined) return;
  // PromQL's increase() misses the first increment of a series that does not exist yet, so the series starts at 0.
  reloadRefusals.inc({ file: "LLM_CONFIG" }, 0);
  let lastText: string | undefined;
  const poll = () => {
    const text = readTextOrErrorCode(path);
    const isRetry = text === lastText;
    if (isRetry && !isRefused) return;
    const isFirst = lastText === undefined;
    lastText = text;
    apply({ isFromFile: true, isFirst, isRetry });
  };
  // The file may have changed since the service loaded it.
  poll();
  const timer = setInterval(poll, POLL_INTERVAL_MS);
  timer.unref();
  lifecycle.onClose("LLM_CONFIG watch", () => clearInterval(timer));
}

/** Returns the file's text. For a file that cannot be read, returns the error code after a NUL, which no YAML file contains. */
function readTextOrErrorCode(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return `\0${(error as NodeJS.ErrnoException).code}`;
  }
}
