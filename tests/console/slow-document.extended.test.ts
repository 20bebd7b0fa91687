import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isFullRun } from "@parley/test-support";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ConsoleProcess, startConsole, startDevelopmentSso } from "../system/console.ts";
import { signIn } from "./owner.ts";

/** The conversation service queues a document for at most 60 s, fetches it in at most 20 s and reads it in at most 60 s. */
const LONGEST_MS = 140_000;
const ADD_SOURCE = "/api/rpc/parley.conversation.v1.KnowledgeAdminService/AddSource";

const service = createServer((request, response) => {
  request.resume();
  setTimeout(() => response.writeHead(200, { "content-type": "application/json" }).end("{}"), LONGEST_MS);
});
let consoleProcess: ConsoleProcess;
const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  resources.defer(() => void service.close());
  const sso = await startDevelopmentSso();
  resources.defer(() => sso.stop());
  const unused = "http://127.0.0.1:1";
  consoleProcess = await startConsole({
    sso,
    conversationUrl: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    quotaUrl: unused,
    edgeUrl: unused,
  });
  resources.defer(() => consoleProcess.stop());
});

it.runIf(isFullRun)(
  "the console waits as long as adding a document may take",
  { timeout: LONGEST_MS + 30_000 },
  async () => {
    const owner = await signIn(consoleProcess.url);
    const response = await owner.post(ADD_SOURCE, {});
    expect([response.status, await response.text()]).toEqual([200, "{}"]);
  },
);
