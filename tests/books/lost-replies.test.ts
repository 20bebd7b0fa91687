import { afterAll, beforeAll, expect, test } from "vitest";
import { createPlan, query, readBalance } from "../support/books.ts";
import { createTenant, type System, startSystem, type Tenant } from "../support/system.ts";
import { countEnds, type Seen, TRUST_THE_TESTS, visit } from "../support/visitors.ts";

const TURNS = process.env.PARLEY_TEST_FULL ? 10_000 : 600;
const AT_ONCE = 24;
const LOST = ["conversation.OpenTurn", "conversation.CloseTurn", "quota.Reserve", "quota.Settle"];

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  const armed = { PARLEY_FAILPOINTS: LOST.map((rpc) => `${rpc}.after=lose%20`).join(" "), LOG_LEVEL: "error" };
  system = await startSystem({
    env: { edge: { ...TRUST_THE_TESTS, LOG_LEVEL: "error" }, conversation: armed, quota: armed },
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
  const { stop = 0 } = countEnds(seen);
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
  expect(counts.turns).toBe(TURNS);
});
