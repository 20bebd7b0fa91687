import { expect, onTestFinished, test } from "vitest";
import { createInstance, type Instance, startInstanceAndWait } from "./system/local-start.ts";

/** A later start creates no database, applies no migration and adds no document. It takes about 0.46 of the first start's time. */
const MAX_RATIO = 0.65;

test(`a start after a clean stop takes at most ${MAX_RATIO} of the first start's time`, async () => {
  const instance = await createInstance();
  onTestFinished(instance.remove);
  const firstMs = await measureStart(instance);
  // The faster of two starts, because other work on the machine can only lengthen a start.
  const laterMs = Math.min(await measureStart(instance), await measureStart(instance));
  expect(laterMs / firstMs, `first ${firstMs} ms, later ${laterMs} ms`).toBeLessThanOrEqual(MAX_RATIO);
}, 180_000);

/** Starts Parley and stops it again. Returns the time until Parley was ready. */
async function measureStart(instance: Instance): Promise<number> {
  const startedAt = performance.now();
  const parley = await startInstanceAndWait(instance);
  const readyMs = Math.round(performance.now() - startedAt);
  expect(await parley.stop("SIGTERM", 30_000)).toEqual({ code: 0, signal: null });
  return readyMs;
}
