import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { nodeFlags } from "@parley/test-support";
import { expect, test } from "vitest";

// Says which of the SDK's modules are loaded.
const WATCH = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ resolve(specifier, context, next) {
    if (/opentelemetry[/.](sdk|exporter|ts)/.test(specifier)) console.log("loaded", specifier);
    return next(specifier, context);
  } });
`)}`;

async function loadedWith(settings: string): Promise<string> {
  const script = `
    import { createLogger, Lifecycle, tracer } from "./src/index.ts";
    import { startTracing } from "./src/tracing/start.ts";
    const log = createLogger("test", "silent");
    const lifecycle = new Lifecycle(log);
    await startTracing("test", ${settings}, log, lifecycle);
    console.log("tracer", typeof tracer());
    await lifecycle.close();
  `;
  const args = [...nodeFlags, "--import", WATCH, "--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL("../..", import.meta.url) });
  return stdout;
}

test("without settings there is no tracer, and nothing of the SDK is loaded", async () => {
  expect(await loadedWith("undefined")).toBe("tracer undefined\n");
});

test("with settings there is one", async () => {
  const loaded = await loadedWith('{ endpoint: "http://127.0.0.1:9", ratio: 1 }');
  expect(loaded).toContain("loaded @opentelemetry/sdk-trace");
  expect(loaded).toContain("tracer object");
});
