import { quickOrFull } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { metric, residentBytes } from "../system/metrics.ts";
import { slowMessage, storeSlowPatterns } from "../system/pattern-attack.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { TRUST_TEST_PROXY, visit } from "../system/visitors.ts";

/** The chart's memory limit for the conversation service, and the part of it that must stay free. */
const MEMORY_LIMIT_MIB = 512;
const MEMORY_MARGIN_MIB = 128;
const MAX_RATIO = 1.2;
/** The best of several rounds counts: slow patterns would delay the neighbor in every round, a busy machine only in some. */
const ROUNDS = quickOrFull(4, 8);
const CHATS = quickOrFull(100, 500);
const ATTACKERS = 4;

let system: System;
beforeAll(async () => {
  system = await startSystem({ env: { edge: TRUST_TEST_PROXY } });
});
afterAll(() => system?.stop());

/** Returns the p99 duration of a tenant's sequential chats. */
async function chatP99Ms(tenant: Tenant): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < CHATS; count++) {
    const startedAt = performance.now();
    expect(await visit(system.url(), tenant, { message: "Where is my order?" })).toMatchObject({
      finishReason: "stop",
    });
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((a, b) => a - b)[Math.ceil(CHATS * 0.99) - 1] ?? 0;
}

/** Sends slow messages concurrently until the returned function is called; it resolves with the response statuses. */
function attack(tenant: Tenant): () => Promise<number[]> {
  let isOver = false;
  const statuses: number[] = [];
  const attackers = Array.from({ length: ATTACKERS }, async () => {
    while (!isOver) {
      const result = await visit(system.url(), tenant, { message: slowMessage() });
      statuses.push(result.kind === "stream" ? 200 : result.kind === "plain" ? result.status : 0);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(attackers);
    return statuses;
  };
}

test(
  "a workspace's slow patterns do not delay another workspace's chats, and memory stays below the chart's limit",
  async () => {
    const attacker = await createTenant(system.admin, { plan: "scale" });
    await storeSlowPatterns(system, attacker);
    const neighbour = await createTenant(system.admin, { plan: "scale" });
    const { workspaceId, botSlug } = neighbour;
    for (const pattern of ["\\bcredit card\\b", "pass\\W{0,5}word", "(idiot|moron)"])
      await system.admin.moderation.addPattern({ workspaceId, botSlug, pattern });
    await chatP99Ms(neighbour);
    const memory = async () => (await residentBytes(system.conversation)) / 2 ** 20;
    const quietMiB = await memory();

    const rounds: { quietMs: number; attackedMs: number; ratio: number; memoryMiB: number }[] = [];
    const statuses: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const quietMs = await chatP99Ms(neighbour);
      const endAttack = attack(attacker);
      const attackedMs = await chatP99Ms(neighbour);
      const memoryMiB = await memory();
      statuses.push(...(await endAttack()));
      rounds.push({ quietMs, attackedMs, ratio: attackedMs / quietMs, memoryMiB });
    }
    const countMatches = (labels: Record<string, string>) =>
      metric(system.conversation, "parley_moderation_duration_seconds_count", labels);
    const refused = (await countMatches({})) - (await countMatches({ result: "ok" }));
    console.table(rounds);
    console.info(
      `${refused} of ${statuses.length} attacking messages refused; memory before the attack: ${quietMiB.toFixed(0)} of ${MEMORY_LIMIT_MIB} MiB`,
    );

    expect(Math.max(...rounds.map(({ memoryMiB }) => memoryMiB))).toBeLessThan(MEMORY_LIMIT_MIB - MEMORY_MARGIN_MIB);
    expect(Math.min(...rounds.map(({ ratio }) => ratio))).toBeLessThanOrEqual(MAX_RATIO);
    // The patterns still apply: a message beyond the workspace's share of matching time is refused, not accepted unmatched.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status === 503)).toHaveLength(refused);
  },
  quickOrFull(180_000, 1_200_000),
);
