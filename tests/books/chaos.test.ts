import { expect, test } from "vitest";
import { runChaos } from "../system/chaos.ts";

const SECONDS = 30;
/** Shorter than an installation's 30 s, which `pnpm test:chaos` has, so that the dead are found sooner. */
const LEASE_SECONDS = 5;

test(`the books balance after ${SECONDS} seconds of kill -9 at random under load`, async () => {
  const result = await runChaos({
    seconds: SECONDS,
    visitors: 12,
    leaseSeconds: LEASE_SECONDS,
    settleWithinMs: 60_000,
    progress: () => undefined,
  });
  expect(result).toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
  expect([result.used, result.ledger]).toEqual([result.done, result.done]);
  expect(result.seenDone).toBeLessThanOrEqual(result.done);
  expect(result.done).toBeLessThanOrEqual(result.providerCalls);
  expect(result.done).toBeGreaterThan(20);
  expect(result.kills).toBeGreaterThan(8);
  // A stream that came to its end came to exactly one.
  expect(result.ends.undefined).toBeUndefined();
}, 180_000);
