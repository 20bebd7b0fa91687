import { figure } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, query, readBalance } from "../system/books.ts";
import { metric } from "../system/metrics.ts";
import type { ServiceProcess } from "../system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countEnds, type Seen, TRUST_THE_TESTS, visit } from "../system/visitors.ts";

const TURNS = figure(600, 10_000);
const AT_ONCE = 24;
/** Every RPC of a turn. A reply that was streamed to its end and whose status is lost is a reply all the same. */
const LOST = {
  conversation: ["ResolveKey", "RenewEdge", "OpenTurn", "CloseTurn"],
  quota: ["Reserve", "Settle"],
  llm: ["Generate"],
} as const;
/** Of these there is at least one a turn. */
const EACH_TURN = ["OpenTurn", "CloseTurn", "Reserve", "Generate"];

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  const losing = (service: keyof typeof LOST) => ({
    PARLEY_FAILPOINTS: LOST[service].map((rpc) => `${service}.${rpc}.after=lose%20`).join(" "),
    LOG_LEVEL: "silent",
  });
  system = await startSystem({
    env: {
      edge: { ...TRUST_THE_TESTS, LOG_LEVEL: "error" },
      conversation: losing("conversation"),
      quota: losing("quota"),
      "llm-proxy": losing("llm"),
    },
  });
  await createPlan(system.database, "endless", 1_000_000);
  tenant = await createTenant(system.admin, { plan: "endless" });
});
afterAll(() => system?.stop());

test(`a lost answer is not a second turn: every fifth answer lost in ${TURNS} turns leaves no message and no unit twice`, async () => {
  const seen: Seen[] = [];
  let sent = 0;
  const visitor = async () => {
    while (sent++ < TURNS) seen.push(await visit(system.url(), tenant));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, visitor));
  const { stop = 0, 503: refused = 0 } = countEnds(seen);
  // Three tries of which each fails in one of five: nearly all turns come through, whatever was lost on the way.
  expect(stop).toBeGreaterThan(TURNS * 0.95);

  await expect
    .poll(() => readBalance(system.database), { timeout: 60_000, interval: 500 })
    .toMatchObject({ held: 0, outbox: 0, unbalanced: 0 });
  const { done } = await readBalance(system.database);
  expect(done).toBeGreaterThanOrEqual(stop);
  const counts = await query<{ turns: number; users: number; replies: number; sessions: number; twice: number }>(
    system.database,
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
  // Who was refused has left a turn, or none.
  expect(counts.turns).toBeGreaterThanOrEqual(TURNS - refused);
  expect(counts.turns).toBeLessThanOrEqual(TURNS);

  // The answers were lost indeed.
  for (const [service, rpcs] of Object.entries({ conversation: LOST.conversation, quota: LOST.quota, llm: LOST.llm })) {
    for (const rpc of rpcs.filter((each) => EACH_TURN.includes(each))) {
      const lost = await lostAnswers(system[service as keyof typeof LOST], rpc);
      expect(lost, rpc).toBeGreaterThan(TURNS * 0.1);
    }
  }
}, 1_800_000);

async function lostAnswers(service: ServiceProcess, rpc: string): Promise<number> {
  const methods = {
    conversation: "parley.conversation.v1.ConversationService",
    quota: "parley.quota.v1.QuotaService",
    "llm-proxy": "parley.llm.v1.LlmService",
  };
  const method = `${methods[service.name as keyof typeof methods]}/${rpc}`;
  return metric(service, "parley_rpc_server_duration_seconds_count", { method, status: "UNAVAILABLE" });
}
