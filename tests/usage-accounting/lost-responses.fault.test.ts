import { quickOrFull } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, databaseOf, queryFirstRow, readBalance } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import type { ServiceProcess } from "../system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, type VisitResult, visit } from "../system/visitors.ts";

const TURNS = quickOrFull(600, 10_000);
const VISITORS = 24;
/** The RPCs that lose responses: those of a turn, and RenewEdge. Generate loses only its final status, so the turn still ends as done. */
const LOSSY_RPCS = {
  conversation: ["ResolveKey", "RenewEdge", "OpenTurn", "CloseTurn"],
  quota: ["Reserve", "Settle"],
  llm: ["Generate"],
} as const;
/** The RPCs that every turn calls at least once. */
const RPCS_OF_EVERY_TURN = ["OpenTurn", "CloseTurn", "Reserve", "Generate"];

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  const withLosses = (service: keyof typeof LOSSY_RPCS) => ({
    // The retry budget of a caller is a tenth of its calls plus 50. If more responses were lost, visitors would get errors.
    PARLEY_FAILPOINTS: LOSSY_RPCS[service].map((rpc) => `${service}.${rpc}.after=lose%10`).join(" "),
    LOG_LEVEL: "silent",
  });
  system = await startSystem({
    env: {
      edge: { ...TRUST_FORWARDED_FOR, LOG_LEVEL: "error" },
      conversation: withLosses("conversation"),
      quota: withLosses("quota"),
      "llm-proxy": withLosses("llm"),
    },
  });
  await createPlan(system.database, "endless", 1_000_000);
  tenant = await createTenant(system.admin, { plan: "endless" });
});
afterAll(() => system?.stop());

test(`each of ${TURNS} turns is stored and counted once when every tenth response is lost`, async () => {
  const visits: VisitResult[] = [];
  let sent = 0;
  const sendMessages = async () => {
    while (sent++ < TURNS) visits.push(await visit(system.url(), tenant));
  };
  await Promise.all(Array.from({ length: VISITORS }, sendMessages));
  const { stop = 0, 503: refused = 0 } = countOutcomes(visits);
  // OpenTurn and Reserve each fail with probability 1/10, so without retries only four turns of five succeed.
  expect(stop).toBeGreaterThan(TURNS * 0.95);

  await expect
    .poll(() => readBalance(system.database), { timeout: 60_000, interval: 500 })
    .toMatchObject({ held: 0, outbox: 0, unbalanced: 0 });
  const { done } = await readBalance(system.database);
  expect(done).toBeGreaterThanOrEqual(stop);
  const counts = await queryFirstRow<{
    turns: number;
    users: number;
    replies: number;
    sessions: number;
    twice: number;
  }>(
    databaseOf(system, tenant.workspaceId),
    `SELECT (SELECT count(*) FROM conversation.turns)::integer AS turns,
            count(*) FILTER (WHERE role = 'user')::integer AS users,
            count(*) FILTER (WHERE role = 'assistant')::integer AS replies,
            count(DISTINCT session_id)::integer AS sessions,
            (count(*) - 2 * count(DISTINCT turn_id))::integer AS twice
     FROM conversation.messages`,
  );
  expect(counts).toEqual({
    turns: counts.turns,
    users: counts.turns,
    replies: counts.turns,
    sessions: counts.turns,
    twice: 0,
  });
  // The edge may refuse a visitor although the turn exists, if OpenTurn's response was lost.
  expect(counts.turns).toBeGreaterThanOrEqual(TURNS - refused);
  expect(counts.turns).toBeLessThanOrEqual(TURNS);

  for (const [service, rpcs] of Object.entries(LOSSY_RPCS)) {
    for (const rpc of rpcs.filter((name) => RPCS_OF_EVERY_TURN.includes(name))) {
      const lost = await countLostResponses(system[service as keyof typeof LOSSY_RPCS], rpc);
      expect(lost, rpc).toBeGreaterThan(TURNS * 0.05);
    }
  }
}, 1_800_000);

test("if every Reserve fails, the quota service receives only slightly more Reserve calls than there are messages", async () => {
  await system.quota.stop();
  await system.quota.start({ PARLEY_FAILPOINTS: "quota.Reserve.before=lose%100" });
  const countCalls = () => countLostResponses(system.quota, "Reserve");
  // Sends a message, and checks whether the edge has connected to the quota service again.
  const isConnected = async () => {
    await visit(system.url(), tenant);
    return (await countCalls()) > 0;
  };
  await expect.poll(isConnected, { timeout: 20_000 }).toBe(true);
  const before = await countCalls();
  const messages = 400;
  const visits: VisitResult[] = [];
  let sent = 0;
  const sendMessages = async () => {
    while (sent++ < messages) visits.push(await visit(system.url(), tenant));
  };
  await Promise.all(Array.from({ length: VISITORS }, sendMessages));
  // One message of ten also loses OpenTurn's response, and may get a 503.
  const { error: failed = 0 } = countOutcomes(visits);
  expect(failed).toBeGreaterThan(messages * 0.8);
  const calls = (await countCalls()) - before;
  expect(calls).toBeGreaterThanOrEqual(failed);
  // Retries add at most a tenth of the calls, plus a burst of 50 for multiplexed calls and one of 50 for gRPC's own retries.
  expect(calls).toBeLessThan(messages * 1.1 + 100);
}, 120_000);

async function countLostResponses(service: ServiceProcess, rpc: string): Promise<number> {
  const methods = {
    conversation: "parley.conversation.v1.ConversationService",
    quota: "parley.quota.v1.QuotaService",
    "llm-proxy": "parley.llm.v1.LlmService",
  };
  const method = `${methods[service.name as keyof typeof methods]}/${rpc}`;
  return readMetric(service, "parley_rpc_server_duration_seconds_count", { method, status: "UNAVAILABLE" });
}
