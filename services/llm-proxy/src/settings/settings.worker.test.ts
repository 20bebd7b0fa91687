import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, createServiceMetrics, Lifecycle, parseSecretText } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMetrics } from "../metrics.ts";
import { openSecrets } from "./secrets.worker.ts";
import { watchSettings } from "./settings.worker.ts";

const POLL_MS = 1_000;

let folder: string;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  folder = mkdtempSync(join(tmpdir(), "parley-settings-"));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

/** Watches the file `llm.yaml` in the folder. Each secret is read from the file of the same name in the folder. */
function watch() {
  const { registry, reloadRefusals } = createServiceMetrics("test");
  const { configReloads: reloads } = createMetrics(registry, () => []);
  const log = createLogger("test", "silent");
  const lifecycle = new Lifecycle(log);
  const findSecretSource = (name: string) => ({ name, file: join(folder, name), parse: parseSecretText });
  const secrets = openSecrets(findSecretSource, { log, lifecycle, reloadRefusals });
  const options = {
    llmConfigPath: join(folder, "llm.yaml"),
    isOpenaiConfigured: false,
    openaiBaseUrl: undefined,
    ollamaHost: undefined,
    defaultModel: undefined,
    readSecret: secrets.read,
  };
  const applySettings = vi.fn();
  const onReload = vi.fn();
  watchSettings(options, { applySettings }, { reloads, reloadRefusals, onReload }, { secrets, log, lifecycle });
  const countReloads = async () => {
    const { values } = await reloads.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]));
  };
  return { applySettings, countReloads, onReload, lifecycle };
}

test("a refused LLM_CONFIG file is applied when the key that it names becomes usable, and each change is counted once", async () => {
  write("llm.yaml", "{}");
  const { applySettings, countReloads, onReload, lifecycle } = watch();
  write("NEW_KEY", "");
  const config = 'providers: { new: { base_url: "http://127.0.0.1:1/v1", api_key_env: NEW_KEY } }';
  write("llm.yaml", config);
  vi.advanceTimersByTime(5 * POLL_MS);
  expect(await countReloads()).toEqual({ refused: 1, applied: 0 });
  write("llm.yaml", `${config}\n`);
  vi.advanceTimersByTime(5 * POLL_MS);
  expect(await countReloads()).toEqual({ refused: 2, applied: 0 });

  write("NEW_KEY", "sk-new");
  vi.advanceTimersByTime(5 * POLL_MS);
  expect(await countReloads()).toEqual({ refused: 2, applied: 1 });
  expect(onReload.mock.calls.map(([{ file, result }]) => `${file} ${result}`)).toEqual([
    ...["LLM_CONFIG refused", "LLM_CONFIG refused", "LLM_CONFIG accepted"],
  ]);
  expect(applySettings).toHaveBeenCalledTimes(2);
  expect(applySettings.mock.lastCall?.[0].providers[0]).toMatchObject({ name: "new", apiKey: "sk-new" });
  await lifecycle.close();
});
