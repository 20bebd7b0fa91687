import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { CleanupStack } from "../cleanup-stack.ts";
import type { ProcessSpec } from "./process-run.ts";
import type { ServiceName } from "./services.ts";
import { startServices } from "./start-services.ts";

const SERVICES: readonly ServiceName[] = ["edge", "conversation", "quota", "llm-proxy", "console"];

/** The code of a server that takes 100 ms to stop. It appends a line to `stopsPath` when it begins to stop, and another when it has stopped. */
const serverScript = (name: string, port: number, stopsPath: string) => `
  const { createServer } = require("node:http");
  const { appendFileSync } = require("node:fs");
  const note = (event) => appendFileSync(${JSON.stringify(stopsPath)}, "${name} " + event + "\\n");
  createServer((_, response) => response.end()).listen(${port}, "127.0.0.1");
  process.once("SIGTERM", () => {
    note("stops");
    setTimeout(() => {
      note("stopped");
      process.exit(0);
    }, 100);
  });
  process.once("disconnect", () => process.exit(0));
`;

test("a service stops only after every service that calls it has stopped", async () => {
  const dir = await mkdtemp(join(tmpdir(), "parley-services-"));
  const stopsPath = join(dir, "stops");
  const createSpec = async (name: ServiceName): Promise<[ServiceName, ProcessSpec]> => {
    const port = await freePort();
    const readyUrl = `http://127.0.0.1:${port}/`;
    const args = ["-e", serverScript(name, port, stopsPath)];
    return [name, { name, args, env: {}, readyUrl, logPath: join(dir, `${name}.log`), stopTimeoutMs: 10_000 }];
  };
  const specs = Object.fromEntries(await Promise.all(SERVICES.map(createSpec))) as Record<ServiceName, ProcessSpec>;
  const cleanups = new CleanupStack();
  onTestFinished(async () => {
    cleanups.closeNow();
    await rm(dir, { recursive: true });
  });

  await startServices(specs, { notify: () => undefined, cleanups, stopSignal: new AbortController().signal });
  await cleanups.close();

  const callersFirst = ["console", "edge", "conversation", "llm-proxy", "quota"];
  expect((await readFile(stopsPath, "utf8")).trim().split("\n")).toEqual(
    callersFirst.flatMap((name) => [`${name} stops`, `${name} stopped`]),
  );
});
