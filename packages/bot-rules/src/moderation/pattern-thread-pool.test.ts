import { createLogger, createRegistry, Lifecycle } from "@parley/service-kit";
import { expect, onTestFinished, test, vi } from "vitest";
import { PatternThreadPool } from "./pattern-thread-pool.ts";

test("waits for a second before it replaces a thread that failed to start", async () => {
  const log = createLogger("test", "silent");
  const logError = vi.spyOn(log, "error");
  const lifecycle = new Lifecycle(log);
  onTestFinished(async () => void (await lifecycle.close()));
  const threads = new PatternThreadPool(
    { registry: createRegistry("test"), log, lifecycle },
    // On a busy machine starting a thread takes seconds.
    { maxWaitMs: 20_000, threadUrl: new URL("data:text/javascript,throw new Error('on purpose')") },
  );
  const startedAtMs = performance.now();
  threads.check("ws_a", { pattern: "rude", isForReplies: false, otherPatterns: [] }).catch(() => undefined);
  const failures = () => logError.mock.calls.length;
  // The pool has two threads. Both fail, and a second later their replacements fail too.
  await expect.poll(failures, { interval: 20 }).toBeGreaterThanOrEqual(3);
  expect(performance.now() - startedAtMs).toBeGreaterThan(1_000);
  expect(logError).toHaveBeenCalledWith({ error: expect.any(Error) }, "pattern thread failed");
});

test("once closed, refuses a job and starts no thread", async () => {
  const log = createLogger("test", "silent");
  const lifecycle = new Lifecycle(log);
  const threads = new PatternThreadPool({ registry: createRegistry("test"), log, lifecycle });
  await lifecycle.close();
  const onWorker = vi.fn();
  process.on("worker", onWorker);
  onTestFinished(() => void process.off("worker", onWorker));
  const check = threads.check("ws_a", { pattern: "rude", isForReplies: false, otherPatterns: [] });
  await expect(check).rejects.toMatchObject({ code: "moderation_overloaded" });
  expect(onWorker).not.toHaveBeenCalled();
});
