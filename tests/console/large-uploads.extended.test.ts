import { type ClientRequest, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONSOLE_WORKSPACE, type ConsoleProcess, type DevelopmentSso, requestOwnersToken } from "../system/console.ts";
import { readMetric } from "../system/metrics.ts";
import type { System } from "../system/system.ts";
import { type ConsoleSystem, startConsoleSystem } from "./console-system.ts";
import { type SignedInClient, signIn } from "./owner.ts";

const BOTS = "parley.conversation.v1.BotAdminService";

let installation: ConsoleSystem;
let sso: DevelopmentSso;
let system: System;
let consoleProcess: ConsoleProcess;
let owner: SignedInClient;

beforeAll(async () => {
  installation = await startConsoleSystem();
  ({ sso, system, consoleProcess } = installation);
  owner = await signIn(consoleProcess.url);
});
afterAll(() => installation?.stop());

describe("many concurrent large uploads", () => {
  const UPLOADS = 30;
  const CONTENT = Buffer.alloc(15 * 1024 * 1024, "a");
  /** Several times the memory of one upload. If all uploads were read at once, they would occupy 1,000 MiB. */
  const MAX_GROWTH_MIB = 250;
  const ADD_SOURCE = "parley.conversation.v1.KnowledgeAdminService/AddSource";
  const source = { workspaceId: CONSOLE_WORKSPACE, botSlug: "guide", name: "large", format: "pdf" };

  async function readMemoryMib(process: { opsPort: number }): Promise<number> {
    return (await readMetric(process, "process_resident_memory_bytes", {})) / 1024 / 1024;
  }

  /** Opens the uploads and sends all but the last byte of each. Returns the largest growth of the process's memory within 5 s, in MiB. */
  async function measureGrowth(
    process: { opsPort: number },
    url: string,
    headers: Record<string, string>,
    body: Buffer,
  ): Promise<number> {
    const before = await readMemoryMib(process);
    let peak = before;
    const uploads = Array.from({ length: UPLOADS }, () => openUpload(url, headers, body));
    for (const until = performance.now() + 5_000; performance.now() < until; await sleep(100))
      peak = Math.max(peak, await readMemoryMib(process));
    for (const upload of uploads) upload.destroy();
    console.info(
      `${UPLOADS} uploads of ${Math.round(body.length / 1024 / 1024)} MiB: ${Math.round(peak - before)} MiB more`,
    );
    return peak - before;
  }

  function openUpload(url: string, headers: Record<string, string>, body: Buffer): ClientRequest {
    const upload = request(url, { method: "POST", headers: { ...headers, "content-length": String(body.length) } });
    upload.on("error", () => undefined);
    upload.write(body.subarray(0, -1));
    return upload;
  }

  it("with an invalid token occupy a bounded part of the console's memory", async () => {
    const headers = { authorization: "Bearer a.b.c", "content-type": "application/proto" };
    expect(
      await measureGrowth(consoleProcess, `${consoleProcess.url}/api/rpc/${ADD_SOURCE}`, headers, CONTENT),
    ).toBeLessThan(MAX_GROWTH_MIB);
  });

  it("with an owner's token occupy a bounded part of the console's memory", async () => {
    const headers = { authorization: `Bearer ${await requestOwnersToken(sso)}`, "content-type": "application/proto" };
    const growth = await measureGrowth(consoleProcess, `${consoleProcess.url}/api/rpc/${ADD_SOURCE}`, headers, CONTENT);
    expect(growth).toBeLessThan(MAX_GROWTH_MIB);
  });

  it("with an owner's token occupy a bounded part of the conversation service's memory, and the service answers a concurrent call", async () => {
    const headers = { authorization: `Bearer ${await requestOwnersToken(sso)}`, "content-type": "application/json" };
    const body = Buffer.from(JSON.stringify({ ...source, content: CONTENT.toString("base64") }));
    const url = `http://127.0.0.1:${system.conversation.opsPort}/${ADD_SOURCE}`;
    let areOpen = true;
    const growing = measureGrowth(system.conversation, url, headers, body).finally(() => {
      areOpen = false;
    });
    await sleep(1_000);
    const meanwhile = await owner.post(`/api/rpc/${BOTS}/ListBots`);
    expect([meanwhile.status, areOpen]).toEqual([200, true]);
    const growth = await growing;
    expect(growth).toBeLessThan(MAX_GROWTH_MIB);
  });
});
