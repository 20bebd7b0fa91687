import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, query, readBalance } from "../support/books.ts";
import type { ServiceProcess } from "../support/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "../support/system.ts";
import { TRUST_THE_TESTS, visit } from "../support/visitors.ts";

type Victim = "edge" | "conversation" | "quota" | "llm";

/** Every step of a turn, in its order, and the process that dies there. */
const STEPS: [place: string, victim: Victim][] = [
  ["conversation.OpenTurn.before", "conversation"],
  ["conversation.OpenTurn.after", "conversation"],
  ["edge.opened", "edge"],
  ["quota.Reserve.before", "quota"],
  ["quota.Reserve.after", "quota"],
  ["edge.reserved", "edge"],
  ["llm.Generate.before", "llm"],
  ["llm.token", "llm"],
  ["edge.token", "edge"],
  ["llm.Generate.after", "llm"],
  ["edge.answered", "edge"],
  ["conversation.CloseTurn.before", "conversation"],
  ["conversation.CloseTurn.after", "conversation"],
  ["edge.closed", "edge"],
  ["quota.Settle.before", "quota"],
  ["quota.Settle.after", "quota"],
  ["conversation.settled", "conversation"],
  ["conversation.RenewEdge.after", "conversation"],
];

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSystem({
    env: {
      edge: { ...TRUST_THE_TESTS, LOG_LEVEL: "error" },
      conversation: { EDGE_LEASE_SECONDS: "3", LOG_LEVEL: "error" },
    },
  });
  await createPlan(system.database, "endless", 1_000_000);
  tenant = await createTenant(system.admin, { plan: "endless", model: "openai:tokens-100-every-2" });
});
afterAll(() => system?.stop());

function serviceOf(victim: Victim): ServiceProcess {
  const service = victim === "edge" ? system.edges[0] : system[victim];
  if (service === undefined) throw new Error(`no ${victim}`);
  return service;
}

async function visitors(count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => visit(system.url(), tenant)));
}

test("kill -9 at each step of a turn loses nothing and counts nothing twice", async () => {
  const survived: string[] = [];
  for (const [place, victim] of STEPS) {
    const service = serviceOf(victim);
    await service.kill9();
    await service.start({ PARLEY_FAILPOINTS: `${place}=kill@4` });
    // Until it is dead. An edge finds a peer that was away within a second, and one lease is renewed three times in three.
    const process = service.process();
    for (let round = 0; round < 12 && process.isRunning(); round++) {
      await visitors(8);
      await Promise.race([process.exited, sleep(500)]);
    }
    if (process.isRunning()) survived.push(place);
    else expect((await process.exited).signal).toBe("SIGKILL");
    await service.kill9();
    await service.start();
    await visitors(4);
  }
  expect(survived).toEqual([]);

  await expect
    .poll(() => readBalance(system.database), { timeout: 60_000, interval: 500 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  const { done, used, ledger } = await readBalance(system.database);
  expect(done).toBeGreaterThan(STEPS.length * 4 - 1);
  expect([used, ledger]).toEqual([done, done]);

  // Each turn left exactly a question and a reply.
  const { odd } = await query<{ odd: number }>(
    system.database,
    `SELECT count(*)::integer AS odd FROM (
       SELECT turn_id FROM conversation.messages GROUP BY turn_id
       HAVING count(*) FILTER (WHERE role = 'user') <> 1 OR count(*) FILTER (WHERE role = 'assistant') <> 1
     ) twice`,
  );
  expect(odd).toBe(0);
}, 240_000);
