import { quickOrFull } from "@parley/test-support";
import { expect, test } from "vitest";
import { runChaos } from "../system/faults/chaos.ts";

const SECONDS = quickOrFull(15, 300);
/** The run continues after SECONDS until it has MIN_KILLS kills and MIN_REPLIES complete replies. */
const MIN_KILLS = quickOrFull(5, 9);
const MIN_REPLIES = 21;
/** Shorter than an installation's 30 s, so that the services detect dead edges sooner. `pnpm test:chaos` uses 30 s. */
const LEASE_SECONDS = 5;

test(`usage reconciles after ${SECONDS} seconds of random kill -9 under load`, async () => {
  const result = await runChaos({
    seconds: SECONDS,
    visitors: 12,
    pauseMs: 100,
    edgeLeaseSeconds: LEASE_SECONDS,
    settleTimeoutMs: 60_000,
    minKills: MIN_KILLS,
    minReplies: MIN_REPLIES,
    hasDatabaseFaults: false,
    progress: () => undefined,
  });
  expect(result).toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0, differences: 0 });
  expect([result.used, result.ledger]).toEqual([result.done, result.done]);
  expect(result.receivedReplies).toBeLessThanOrEqual(result.done);
  expect(result.done).toBeLessThanOrEqual(result.providerCalls);
  expect(result.done).toBeGreaterThanOrEqual(MIN_REPLIES);
  expect(result.kills).toBeGreaterThanOrEqual(MIN_KILLS);
  // `outcomes.undefined` counts streams without a finish reason.
  expect(result.outcomes.undefined).toBeUndefined();
}, 600_000);
