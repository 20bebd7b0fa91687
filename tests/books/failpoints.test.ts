import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, query, readBalance } from "../system/books.ts";
import type { ServiceProcess } from "../system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { TRUST_THE_TESTS, visit } from "../system/visitors.ts";

type Victim = "edge" | "conversation" | "quota" | "llm";

/** Every step of a turn, by the process that dies there. */
const STEPS: Record<Victim, string[]> = {
  edge: ["edge.opened", "edge.reserved", "edge.token", "edge.answered", "edge.closed"],
  conversation: [
    "conversation.OpenTurn.before",
    "conversation.OpenTurn.after",
    "conversation.CloseTurn.before",
    "conversation.CloseTurn.after",
    "conversation.settled",
    "conversation.RenewEdge.after",
  ],
  quota: ["quota.Reserve.before", "quota.Reserve.after", "quota.Settle.before", "quota.Settle.after"],
  llm: ["llm.Generate.before", "llm.token", "llm.Generate.after"],
};
const VISITORS = 8;
/** On a machine that does many other things at once. */
const DIES_WITHIN_MS = 60_000;

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  // The first edge is the victim; the second one goes on serving.
  system = await startSystem({
    edges: 2,
    env: {
      edge: { ...TRUST_THE_TESTS, LOG_LEVEL: "error" },
      conversation: { EDGE_LEASE_SECONDS: "3", LOG_LEVEL: "error" },
    },
  });
  await createPlan(system.database, "endless", 1_000_000);
  tenant = await createTenant(system.admin, { plan: "endless", model: "openai:tokens-30-every-2" });
});
afterAll(() => system?.stop());

function serviceOf(victim: Victim): ServiceProcess {
  const service = victim === "edge" ? system.edges[0] : system[victim];
  if (service === undefined) throw new Error(`no ${victim}`);
  return service;
}

/** Kills a service at each of its steps, one after the other, and leaves it whole. Answers with the steps that it survived. */
async function killAtEach(victim: Victim): Promise<string[]> {
  const service = serviceOf(victim);
  const survived: string[] = [];
  for (const step of STEPS[victim]) {
    await service.kill9();
    // Visitors come the moment it listens: it may have died of its step before anybody has asked whether it is ready.
    await service.start({ PARLEY_FAILPOINTS: `${step}=kill@4` }).catch((error: unknown) => {
      if (service.process().isRunning()) throw error;
    });
    const armed = service.process();
    const died = await Promise.race([armed.exited, sleep(DIES_WITHIN_MS)]);
    if (died?.signal !== "SIGKILL") survived.push(step);
  }
  await service.kill9();
  await service.start();
  return survived;
}

test("kill -9 at each step of a turn, in every service at once, loses nothing and counts nothing twice", async () => {
  let isOver = false;
  const visitor = async (number: number) => {
    for (let turn = number; !isOver; turn++) {
      const { kind } = await visit(system.url(turn % 2), tenant);
      // Who is refused at once would otherwise only spin.
      if (kind !== "stream") await sleep(50);
    }
  };
  const visitors = Promise.all(Array.from({ length: VISITORS }, (_, number) => visitor(number)));
  try {
    const victims = Object.keys(STEPS) as Victim[];
    expect((await Promise.all(victims.map(killAtEach))).flat()).toEqual([]);
  } finally {
    isOver = true;
    await visitors;
  }
  // And whole again.
  const last = await Promise.all([0, 1].map((edge) => visit(system.url(edge), tenant)));
  expect(last).toMatchObject([{ finish: "stop" }, { finish: "stop" }]);

  await expect
    .poll(() => readBalance(system.database), { timeout: 60_000, interval: 500 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  const { done, used, ledger } = await readBalance(system.database);
  expect(done).toBeGreaterThan(Object.values(STEPS).flat().length);
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
}, 600_000);
