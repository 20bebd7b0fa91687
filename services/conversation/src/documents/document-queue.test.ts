import { setTimeout as sleep } from "node:timers/promises";
import { invalidArgument } from "@parley/service-kit";
import { expect, test } from "vitest";
import { DocumentQueue } from "./document-queue.ts";

const MiB = 1024 * 1024;
const signal = new AbortController().signal;
const UNREADABLE_MS = 20;
/** The share of the time that the unreadable documents of a workspace may use. */
const UNREADABLE_SHARE = 0.1;
/** The delay after UNREADABLE_MS of work. */
const MIN_DELAY_MS = UNREADABLE_MS / UNREADABLE_SHARE;

/** Enqueues work that runs until the test calls `end` or `fail`, and logs when it begins and ends. */
function enqueue(
  queue: DocumentQueue,
  name: string,
  log: string[],
  options: { bytes?: number; signal?: AbortSignal; workspaceId?: string } = {},
) {
  const end = Promise.withResolvers<void>();
  const done = queue.run({ workspaceId: "ws_a", bytes: 0, signal, ...options }, async () => {
    log.push(`${name} begins`);
    await end.promise;
    log.push(`${name} ends`);
  });
  return { end: end.resolve, fail: end.reject, done };
}

/** Lets the enqueued work begin, then waits until `ms` have passed by the clock. A timer ends early if the current event loop iteration took long. */
async function workFor(ms: number): Promise<void> {
  await sleep(0);
  const endMs = performance.now() + ms;
  while (performance.now() < endMs) await sleep(1);
}

test("DocumentQueue runs documents one at a time and in order, and continues after a failure", async () => {
  const queue = new DocumentQueue();
  const log: string[] = [];
  const [one, two, three] = ["one", "two", "three"].map((name) => enqueue(queue, name, log));
  three?.end();
  two?.fail(new Error("unreadable"));
  one?.end();
  await expect(two?.done).rejects.toThrow("unreadable");
  await three?.done;
  expect(log).toEqual(["one begins", "one ends", "two begins", "three begins", "three ends"]);
  const four = enqueue(queue, "four", log);
  four.end();
  await four.done;
  expect(log.at(-1)).toBe("four ends");
});

test("DocumentQueue refuses a document when more than 16 MiB would wait, and accepts it when there is room", async () => {
  const queue = new DocumentQueue();
  const log: string[] = [];
  const running = enqueue(queue, "running", log, { bytes: 16 * MiB });
  const waiting = enqueue(queue, "waiting", log, { bytes: 10 * MiB });
  await expect(enqueue(queue, "refused", log, { bytes: 7 * MiB }).done).rejects.toMatchObject({
    kind: "resource_exhausted",
    code: "too_many_documents",
    message: expect.stringContaining("try again"),
  });
  running.end();
  await running.done;
  const accepted = enqueue(queue, "accepted", log, { bytes: 7 * MiB });
  waiting.end();
  accepted.end();
  await accepted.done;
  expect(log).not.toContain("refused begins");
});

test("DocumentQueue removes a document from the queue when its caller cancels", async () => {
  const queue = new DocumentQueue();
  const log: string[] = [];
  const caller = new AbortController();
  const running = enqueue(queue, "running", log);
  const cancelled = enqueue(queue, "cancelled", log, { bytes: 16 * MiB, signal: caller.signal });
  const waiting = enqueue(queue, "waiting", log);
  caller.abort(new Error("cancelled"));
  await expect(cancelled.done).rejects.toThrow("cancelled");
  running.end();
  waiting.end();
  await waiting.done;
  expect(log).toEqual(["running begins", "running ends", "waiting begins", "waiting ends"]);
});

test("DocumentQueue refuses a document after the maximum wait", async () => {
  const queue = new DocumentQueue({ maxWaitMs: 50 });
  const log: string[] = [];
  const running = enqueue(queue, "running", log);
  await expect(enqueue(queue, "late", log).done).rejects.toMatchObject({ code: "too_many_documents" });
  running.end();
  await running.done;
  expect(log).toEqual(["running begins", "running ends"]);
});

test("DocumentQueue delays a workspace's next document after an unreadable one that took long, but not other workspaces' documents", async () => {
  const queue = new DocumentQueue({ unreadableTimeLimit: { share: UNREADABLE_SHARE, burstMs: 0 } });
  const log: string[] = [];
  const unreadable = enqueue(queue, "unreadable", log);
  const next = enqueue(queue, "next", log);
  const other = enqueue(queue, "other", log, { workspaceId: "ws_b" });
  next.end();
  other.end();
  await workFor(UNREADABLE_MS);
  const failedAt = performance.now();
  unreadable.fail(invalidArgument("content cannot be read", "unreadable_document"));
  await expect(unreadable.done).rejects.toThrow("cannot be read");
  await other.done;
  expect(log).toEqual(["unreadable begins", "other begins", "other ends"]);
  await next.done;
  expect(performance.now() - failedAt).toBeGreaterThan(MIN_DELAY_MS);
});

test("DocumentQueue serves workspaces round-robin", async () => {
  const queue = new DocumentQueue();
  const log: string[] = [];
  const many = Array.from({ length: 20 }, (_, index) => enqueue(queue, `a${index}`, log));
  const [b1, b2] = ["b1", "b2"].map((name) => enqueue(queue, name, log, { workspaceId: "ws_b" }));
  const c = enqueue(queue, "c", log, { workspaceId: "ws_c" });
  for (const each of [...many, b1, b2, c]) each?.end();
  await Promise.all([...many, b1, b2, c].map((each) => each?.done));
  const begun = log.filter((line) => line.endsWith("begins")).map((line) => line.split(" ")[0]);
  expect(begun.slice(0, 7)).toEqual(["a0", "b1", "c", "a1", "b2", "a2", "a3"]);
});

test("DocumentQueue delays a workspace's next document after a URL that did not answer in time", async () => {
  const queue = new DocumentQueue({ unreadableTimeLimit: { share: UNREADABLE_SHARE, burstMs: 0 } });
  const log: string[] = [];
  const stalled = enqueue(queue, "stalled", log);
  const next = enqueue(queue, "next", log);
  next.end();
  await workFor(UNREADABLE_MS);
  const failedAt = performance.now();
  stalled.fail(invalidArgument("the URL cannot be fetched", "timeout"));
  await expect(stalled.done).rejects.toThrow("cannot be fetched");
  await next.done;
  expect(performance.now() - failedAt).toBeGreaterThan(MIN_DELAY_MS);
});

test("DocumentQueue does not delay a workspace's next document after a readable one that took long", async () => {
  const queue = new DocumentQueue({ maxWaitMs: 1_000, unreadableTimeLimit: { share: 0.01, burstMs: 0 } });
  const log: string[] = [];
  const long = enqueue(queue, "long", log);
  const next = enqueue(queue, "next", log);
  await sleep(20);
  long.end();
  next.end();
  await next.done;
  expect(log).toEqual(["long begins", "long ends", "next begins", "next ends"]);
});

test("DocumentQueue names the reason when it refuses a document after an unreadable one that took long", async () => {
  const queue = new DocumentQueue({ maxWaitMs: 50, unreadableTimeLimit: { share: 0.01, burstMs: 0 } });
  const log: string[] = [];
  const unreadable = enqueue(queue, "unreadable", log);
  await sleep(20);
  unreadable.fail(invalidArgument("content cannot be read", "unreadable_document"));
  await expect(unreadable.done).rejects.toThrow("cannot be read");
  await expect(enqueue(queue, "next", log).done).rejects.toMatchObject({
    code: "too_many_documents",
    message: expect.stringContaining("could not be fetched or read and took too long: try again in"),
  });
});
