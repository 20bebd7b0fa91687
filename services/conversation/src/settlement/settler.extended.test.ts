import { setTimeout as sleep } from "node:timers/promises";
import { type Database, Registry } from "@parley/service-kit";
import { installTracer, type Span, type Statement, type Tracer } from "@parley/service-kit/testing";
import { expect, onTestFinished, test } from "vitest";
import { useTestSettlement } from "../testing/settlement.ts";

const system = useTestSettlement();
const { newSettler, runTurns, readOutboxDepth } = system;

test("the settler sends a turn again if quota's response does not contain it, and settles the other turns meanwhile", async () => {
  const turns = await runTurns(1_001);
  await system.db.admin.query("UPDATE conversation.outbox SET created_at = now() - interval '1 hour'");
  const stuck = turns.slice(0, 501).map((turn) => turn.turnId);
  system.quota.unacknowledged = new Set(stuck);
  const settler = newSettler();
  settler.start();
  await expect.poll(readOutboxDepth, { timeout: 20_000, interval: 20 }).toBe(501);
  system.quota.unacknowledged.clear();
  await expect.poll(readOutboxDepth, { timeout: 20_000, interval: 20 }).toBe(0);
  expect(system.quota.countDone(system.bot.workspaceId)).toBe(1_001);
});

test("the span of a turn ends with not_settled if quota's response does not contain the turn", async () => {
  const ends = new Map<unknown, string | undefined>();
  const openChild: Tracer["openChild"] = (name, { attributes }) => {
    if (name !== "settle") return;
    return { end: (failure) => void ends.set(attributes?.["parley.turn_id"], failure) } as Span;
  };
  installTracer({ openChild, runOutsideTrace: (work) => work() } as Tracer);
  onTestFinished(() => installTracer(undefined));
  const turns = await runTurns(2);
  const [settled, unsettled] = turns.map(({ turnId }) => turnId);
  system.quota.unacknowledged = new Set([unsettled ?? ""]);
  newSettler().push(turns);
  await expect.poll(() => ends.size).toBe(2);
  expect(ends.get(settled)).toBeUndefined();
  expect(ends.get(unsettled)).toBe("not_settled");
});

test("a replica without the outbox lease settles pushed turns itself once its pause after a failed call is over", async () => {
  newSettler().start();
  // Waits until the first replica holds the lease.
  await sleep(1_500);
  const registry = new Registry();
  const other = newSettler({ registry });
  other.start();
  system.quota.isSettleUnavailable = true;
  other.push(await runTurns(1));
  await sleep(1_500);
  system.quota.isSettleUnavailable = false;
  await expect.poll(readOutboxDepth).toBe(0);
  // Longer than the pause.
  await sleep(3_000);
  other.push(await runTurns(1));
  await expect.poll(() => registry.metrics()).toContain("parley_settle_lag_seconds_count 1");
});

test("one of two replicas polls the outbox, and the other replica takes over when the polling replica stops", async () => {
  const replicas = [0, 1].map(() => {
    const reads = { count: 0 };
    const query = (...[statement, values]: [Statement | string, unknown[]?]) => {
      if (typeof statement === "object" && statement.text.includes("ORDER BY created_at")) reads.count++;
      return system.db.database.query(statement as string, values);
    };
    return { reads, settler: newSettler({ database: { query } as unknown as Database }) };
  });
  for (const { settler } of replicas) settler.start();
  await sleep(4_000);
  const [reader, other] = replicas.toSorted((a, b) => b.reads.count - a.reads.count);
  expect(reader?.reads.count).toBeGreaterThan(1);
  expect(other?.reads.count).toBe(0);
  await reader?.settler.stop();
  await expect.poll(() => other?.reads.count, { timeout: 5_000 }).toBeGreaterThan(0);
}, 30_000);
