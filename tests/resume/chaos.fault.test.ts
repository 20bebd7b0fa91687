import { quickOrFull } from "@parley/test-support";
import { expect, test } from "vitest";
import { runKeyedChaos } from "../system/faults/keyed-chaos.ts";

const SECONDS = quickOrFull(10, 60);
const MIN_FAULTS = 4;

test(`no reply with an idempotency key is lost, is duplicated or hangs during ${SECONDS} s of disconnects, stop requests, erasures, kill -9 and database restarts`, async () => {
  const result = await runKeyedChaos({
    seconds: SECONDS,
    visitors: 8,
    edgeLeaseSeconds: 3,
    settleTimeoutMs: 60_000,
    minFaults: MIN_FAULTS,
  });
  expect(result).toMatchObject({ lost: [], duplicated: [], hung: [] });
  expect(result.turns).toBeLessThanOrEqual(result.keys);
  expect(result.keys).toBeGreaterThan(10);
  expect(result.kills + result.databaseRestarts).toBeGreaterThanOrEqual(MIN_FAULTS);
}, 240_000);
