import { setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pool } from "../../system/pool.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { type VisitResult, visit } from "../../system/visitors.ts";
import type { EdgeStage } from "../edge-stage.ts";
import { expectNoOtherText, expectOneEnd } from "../one-end.ts";

const TEXT = Array.from({ length: 30 }, (_, index) => `t${index} `).join("");
const NAMES = ["conversation", "quota", "llm"] as const;

/** A network between the edge and each service that cuts, turns bytes over, resets, and refuses. */
export function brokenWiresSuite(shared: () => EdgeStage): void {
  let system: System;
  let edge: ServiceProcess;
  let tenant: Tenant;
  let wires: Record<(typeof NAMES)[number], TcpProxy>;

  beforeAll(async () => {
    ({ system } = shared());
    const wire = (service: ServiceProcess) => startTcpProxy({ targetPort: service.port });
    wires = {
      conversation: await wire(system.conversation),
      quota: await wire(system.quota),
      llm: await wire(system.llm),
    };
    const target = (name: (typeof NAMES)[number]) => `127.0.0.1:${wires[name].port}`;
    [edge, tenant] = await Promise.all([
      system.startEdge({
        CONVERSATION_TARGET: target("conversation"),
        QUOTA_TARGET: target("quota"),
        LLM_TARGET: target("llm"),
      }),
      createTenant(system.admin, { plan: "scale", model: "openai:tokens-30-every-5" }),
    ]);
  });
  afterAll(async () => {
    await edge.stop();
    await Promise.all(Object.values(wires).map((wire) => wire.close()));
  });

  const visitHere = () => visit(`http://127.0.0.1:${edge.port}`, tenant);

  /** A stream with one end, or a plain refusal; never a connection that breaks, and never a hang. */
  function expectOrderly(seen: VisitResult, what: string, isIntact = true): void {
    if (seen.kind === "plain") expect(seen.status, what).toBe(503);
    else if (seen.kind === "broken") expect.fail(`${what}: the connection broke`);
    else {
      expectOneEnd(seen.chat, what);
      if (isIntact) expectNoOtherText(seen.chat, TEXT, what);
    }
  }

  async function healthy(): Promise<void> {
    await expect
      .poll(
        async () => {
          const seen = await visitHere();
          return seen.kind === "stream" && seen.finishReason;
        },
        { timeout: 20_000 },
      )
      .toBe("stop");
  }

  test.each(NAMES)(
    "the wire to %s is cut, or a byte of it turned over, anywhere: one done, last, or a plain 503",
    async (name) => {
      for (const fault of ["cutAfterBytes", "corruptAfterBytes"] as const) {
        for (let bytes = 0; bytes < 1_400; bytes += 140) {
          wires[name][fault](bytes);
          const seen = await pool(3, 3, visitHere);
          await wires[name].resume();
          wires[name].resetAll();
          // Without TLS between the services nothing but TCP vouches for the bytes of a text.
          for (const each of seen) expectOrderly(each, `${name} ${fault} ${bytes}`, fault === "cutAfterBytes");
        }
      }
      await healthy();
    },
  );

  test("every wire is reset amid streams, and refused for a while: nothing hangs", async () => {
    for (const name of NAMES) {
      const visits = pool(8, 8, visitHere);
      await sleep(80);
      wires[name].resetAll();
      for (const each of await visits) expectOrderly(each, `${name} reset`);
      await wires[name].drop();
      for (const each of await pool(3, 3, visitHere)) expectOrderly(each, `${name} refused`);
      await wires[name].resume();
    }
    await healthy();
  });
}
