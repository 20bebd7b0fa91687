import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { nodeFlags } from "@parley/test-support";
import { expect, test } from "vitest";

// A module that prints each import of OpenTelemetry's SDK.
const LOG_SDK_IMPORTS = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ resolve(specifier, context, next) {
    if (/opentelemetry[/.](sdk|exporter|ts)/.test(specifier)) console.log("loaded", specifier);
    return next(specifier, context);
  } });
`)}`;

async function startWith(settings: string): Promise<string> {
  const script = `
    import { createLogger, Lifecycle, currentTracer } from "./src/index.ts";
    import { startTracing } from "./src/tracing/start.ts";
    const log = createLogger("test", "silent");
    const lifecycle = new Lifecycle(log);
    await startTracing("test", ${settings}, log, lifecycle);
    console.log("tracer", typeof currentTracer());
    await lifecycle.close();
  `;
  const args = [...nodeFlags, "--import", LOG_SDK_IMPORTS, "--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL("../..", import.meta.url) });
  return stdout;
}

test("without settings, startTracing installs no tracer and loads no module of the SDK", async () => {
  expect(await startWith("undefined")).toBe("tracer undefined\n");
});

test("with settings, startTracing loads the SDK and installs a tracer", async () => {
  const output = await startWith('{ endpoint: "http://127.0.0.1:9", ratio: 1 }');
  expect(output).toContain("loaded @opentelemetry/sdk-trace");
  expect(output).toContain("tracer object");
});
