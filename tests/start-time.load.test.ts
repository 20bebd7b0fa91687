import { expect, onTestFinished, test } from "vitest";
import { createInstance, startInstanceAndWait } from "./system/local-start.ts";

const MAX_SECOND_START_MS = 5_000;

test("a start after a clean stop is ready in 5 s", async () => {
  const instance = await createInstance();
  onTestFinished(() => instance.remove());
  const first = await startInstanceAndWait(instance);
  expect(await first.stop("SIGTERM", 30_000)).toEqual({ code: 0, signal: null });
  const startedAt = performance.now();
  const second = await startInstanceAndWait(instance);
  const startMs = performance.now() - startedAt;
  await second.stop("SIGTERM", 30_000);
  expect(startMs).toBeLessThanOrEqual(MAX_SECOND_START_MS);
}, 180_000);
