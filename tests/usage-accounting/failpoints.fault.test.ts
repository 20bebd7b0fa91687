import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, databaseOf, queryFirstRow, readBalance } from "../system/database.ts";
import type { ServiceProcess } from "../system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { outcomeOf, TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";

type Victim = "edge" | "conversation" | "quota" | "llm";

/** The failpoints at which the test kills each service: the steps of a turn, and RenewEdge, which renews an edge's lease. */
const FAILPOINTS: Record<Victim, string[]> = {
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
const VISITOR_PAUSE_MS = 100;
/** How long a failpoint may take to kill its service on a busy machine. */
const KILL_TIMEOUT_MS = 60_000;
const RECOVERY_MS = 10_000;

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  // The test kills only the first edge. The second edge serves all the time.
  system = await startSystem({
    edges: 2,
    env: {
      edge: { ...TRUST_FORWARDED_FOR, LOG_LEVEL: "error" },
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

/**
 * Starts a service with each of its failpoints, one after the other. Each failpoint kills the service when it is reached for the fourth time.
 * Finally restarts the service without a failpoint. Returns the failpoints that did not kill it.
 */
async function killAtEach(victim: Victim): Promise<string[]> {
  const service = serviceOf(victim);
  const survivedAt: string[] = [];
  for (const failpoint of FAILPOINTS[victim]) {
    await service.kill9();
    // If the visitors reach the failpoint before the service is ready, `start` rejects.
    await service.start({ PARLEY_FAILPOINTS: `${failpoint}=kill@4` }).catch((error: unknown) => {
      if (service.process().isRunning()) throw error;
    });
    const exit = await Promise.race([service.process().exited, sleep(KILL_TIMEOUT_MS)]);
    if (exit?.signal !== "SIGKILL") survivedAt.push(failpoint);
  }
  await service.kill9();
  await service.start();
  return survivedAt;
}

test("every done turn is counted exactly once after kill -9 at each step of a turn, when all services are killed concurrently", async () => {
  let isOver = false;
  const sendMessages = async (number: number) => {
    for (let turn = number; !isOver; turn++) {
      await visit(system.url(turn % 2), tenant);
      // Leaves CPU time to the services that start, and avoids a busy loop while an edge refuses connections.
      await sleep(VISITOR_PAUSE_MS);
    }
  };
  const visitors = Promise.all(Array.from({ length: VISITORS }, (_, number) => sendMessages(number)));
  try {
    const victims = Object.keys(FAILPOINTS) as Victim[];
    expect((await Promise.all(victims.map(killAtEach))).flat()).toEqual([]);
  } finally {
    isOver = true;
    await visitors;
  }
  // An edge may need a moment to reach a service that has just restarted.
  const visitEdges = async () =>
    (await Promise.all([0, 1].map((edge) => visit(system.url(edge), tenant)))).map(outcomeOf);
  await expect.poll(visitEdges, { timeout: RECOVERY_MS }).toEqual(["stop", "stop"]);

  await expect
    .poll(() => readBalance(system.database), { timeout: 60_000, interval: 500 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  const { done, used, ledger } = await readBalance(system.database);
  expect(done).toBeGreaterThan(Object.values(FAILPOINTS).flat().length);
  expect([used, ledger]).toEqual([done, done]);

  // Each turn has exactly one message of each role.
  const { incomplete } = await queryFirstRow<{ incomplete: number }>(
    databaseOf(system, tenant.workspaceId),
    `SELECT count(*)::integer AS incomplete FROM (
       SELECT turn_id FROM conversation.messages GROUP BY turn_id
       HAVING count(*) FILTER (WHERE role = 'user') <> 1 OR count(*) FILTER (WHERE role = 'assistant') <> 1
     ) turns`,
  );
  expect(incomplete).toBe(0);
}, 600_000);
