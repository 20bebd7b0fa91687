import { setTimeout as sleep } from "node:timers/promises";
import { quickOrFull, startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mapConcurrently } from "../../system/map-concurrently.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { type VisitResult, visit } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";
import { expectWellFormed, expectWholeTextOrPrefix } from "../stream-assertions.ts";

const TEXT = Array.from({ length: 30 }, (_, index) => `t${index} `).join("");
const STEP_BYTES = quickOrFull(280, 140);
const NAMES = ["conversation", "quota", "llm"] as const;

/** Puts a proxy between the edge and each service. The proxies cut, corrupt, reset and refuse connections. */
export function networkFaultsSuite(shared: () => EdgeFixture): void {
  let system: System;
  let edge: ServiceProcess;
  let tenant: Tenant;
  let proxies: Record<(typeof NAMES)[number], TcpProxy>;

  beforeAll(async () => {
    ({ system } = shared());
    const proxy = (service: ServiceProcess) => startTcpProxy({ targetPort: service.port });
    proxies = {
      conversation: await proxy(system.conversation),
      quota: await proxy(system.quota),
      llm: await proxy(system.llm),
    };
    const targetThroughProxy = (name: (typeof NAMES)[number]) => `127.0.0.1:${proxies[name].port}`;
    [edge, tenant] = await Promise.all([
      system.startEdge({
        CONVERSATION_TARGET: targetThroughProxy("conversation"),
        QUOTA_TARGET: targetThroughProxy("quota"),
        LLM_TARGET: targetThroughProxy("llm"),
      }),
      createTenant(system.admin, { plan: "scale", model: "openai:tokens-30-every-5" }),
    ]);
  });
  afterAll(async () => {
    await edge.stop();
    await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
  });

  const visitEdge = () => visit(`http://127.0.0.1:${edge.port}`, tenant);

  function expectStreamOr503(result: VisitResult, label: string, checksText = true): void {
    if (result.kind === "plain") expect(result.status, label).toBe(503);
    else if (result.kind === "broken") expect.fail(`${label}: the connection broke`);
    else {
      expectWellFormed(result.chat, label);
      if (checksText) expectWholeTextOrPrefix(result.chat, TEXT, label);
    }
  }

  async function waitUntilHealthy(): Promise<void> {
    await expect
      .poll(
        async () => {
          const result = await visitEdge();
          return result.kind === "stream" && result.finishReason;
        },
        { timeout: 20_000 },
      )
      .toBe("stop");
  }

  test.each(NAMES)(
    "a visitor gets a well-formed stream or a plain 503 when the connection to %s is cut or corrupted after 0 to 1,260 bytes",
    async (name) => {
      for (const fault of ["cutAfterBytes", "corruptAfterBytes"] as const) {
        for (let bytes = 0; bytes < 1_400; bytes += STEP_BYTES) {
          proxies[name][fault](bytes);
          const results = await mapConcurrently(3, 3, visitEdge);
          await proxies[name].resume();
          proxies[name].resetAll();
          // A corrupted byte may change the text, because the services call each other without TLS here.
          for (const each of results) expectStreamOr503(each, `${name} ${fault} ${bytes}`, fault === "cutAfterBytes");
        }
      }
      await waitUntilHealthy();
    },
  );

  test("no visit hangs when connections are reset during streams and then refused", async () => {
    for (const name of NAMES) {
      const visits = mapConcurrently(8, 8, visitEdge);
      await sleep(80);
      proxies[name].resetAll();
      for (const each of await visits) expectStreamOr503(each, `${name} reset`);
      await proxies[name].drop();
      for (const each of await mapConcurrently(3, 3, visitEdge)) expectStreamOr503(each, `${name} refused`);
      await proxies[name].resume();
    }
    await waitUntilHealthy();
  });
}
