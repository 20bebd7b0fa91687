import { quickOrFull } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readMetric, readResidentBytes } from "../system/metrics.ts";
import { sendBaselineMessages, sendSlowMessages, storeSlowPatterns } from "../system/pattern-attack.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";

/** The chart's memory limit for the conversation service, and the part of it that must stay free. */
const MEMORY_LIMIT_MIB = 512;
const MEMORY_MARGIN_MIB = 128;
/**
 * The limit for the neighbour's p99 during the attack, as a multiple of its p99 without the attack. The quick run only prints the ratio, because
 * the p99 of few chats on a busy machine is chance. In both runs, each chat of the neighbour must get its reply.
 */
const MAX_RATIO = quickOrFull(Number.POSITIVE_INFINITY, 1.2);
const MIN_ROUNDS = quickOrFull(2, 16);
/**
 * While the ratio is above its limit, the test adds rounds up to this number. Each p99 is computed from the chats of all rounds, because the
 * p99 of few chats depends on chance.
 */
const MAX_ROUNDS = 4 * MIN_ROUNDS;
const CHATS_PER_MEASUREMENT = 100;

let system: System;
beforeAll(async () => {
  system = await startSystem({ env: { edge: TRUST_FORWARDED_FOR } });
});
afterAll(() => system?.stop());

/** Returns the durations of a tenant's sequential chats in milliseconds. */
async function measureChatTimes(tenant: Tenant): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < CHATS_PER_MEASUREMENT; count++) {
    const startedAt = performance.now();
    expect(await visit(system.url(), tenant, { message: "Where is my order?" })).toMatchObject({
      finishReason: "stop",
    });
    times.push(performance.now() - startedAt);
  }
  return times;
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;
}

test(
  "a workspace's slow patterns do not delay another workspace's chats, and memory stays below the chart's limit",
  async () => {
    const attacker = await createTenant(system.admin, { plan: "scale" });
    await storeSlowPatterns(system, attacker);
    const neighbour = await createTenant(system.admin, { plan: "scale" });
    const tenantWithoutPatterns = await createTenant(system.admin, { plan: "scale" });
    const { workspaceId, botSlug } = neighbour;
    for (const pattern of ["\\bcredit card\\b", "pass\\W{0,5}word", "(idiot|moron)"])
      await system.admin.moderation.addPattern({ workspaceId, botSlug, pattern });
    await measureChatTimes(neighbour);
    const memory = async () => (await readResidentBytes(system.conversation)) / 2 ** 20;
    const quietMiB = await memory();

    const timesWithoutAttack: number[] = [];
    const timesWithAttack: number[] = [];
    const statuses: number[] = [];
    let maxMiB = 0;
    const ratio = () => p99(timesWithAttack) / p99(timesWithoutAttack);
    for (let round = 1; round <= MIN_ROUNDS || (round <= MAX_ROUNDS && ratio() > MAX_RATIO); round++) {
      const traffic = sendBaselineMessages(system.url(), tenantWithoutPatterns);
      timesWithoutAttack.push(...(await measureChatTimes(neighbour)));
      await traffic.stop();
      const attack = sendSlowMessages(system.url(), attacker);
      timesWithAttack.push(...(await measureChatTimes(neighbour)));
      maxMiB = Math.max(maxMiB, await memory());
      statuses.push(...(await attack.stop()));
      console.info(
        `round ${round}: p99 ${p99(timesWithoutAttack).toFixed(1)} ms, with the attack ${p99(timesWithAttack).toFixed(1)} ms, ratio ${ratio().toFixed(2)}`,
      );
    }
    const countPatternJobs = (labels: Record<string, string>) =>
      readMetric(system.conversation, "parley_moderation_duration_seconds_count", labels);
    const refused = (await countPatternJobs({})) - (await countPatternJobs({ result: "ok" }));
    console.info(
      `${refused} of ${statuses.length} attacking messages refused; memory ${quietMiB.toFixed(0)} MiB, with the attack ${maxMiB.toFixed(0)} of ${MEMORY_LIMIT_MIB} MiB`,
    );

    expect(maxMiB).toBeLessThan(MEMORY_LIMIT_MIB - MEMORY_MARGIN_MIB);
    expect(ratio()).toBeLessThanOrEqual(MAX_RATIO);
    // The service refuses a message beyond the workspace's share of matching time. It never accepts a message without matching it.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status === 503)).toHaveLength(refused);
  },
  quickOrFull(180_000, 1_200_000),
);
