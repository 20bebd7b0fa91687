import { expect, test } from "vitest";
import { DocumentQueue } from "./document-queue.ts";

const MiB = 1024 * 1024;
const signal = new AbortController().signal;

/** Enqueues work that logs its start and runs until the test calls `end` or `fail`. */
function enqueue(
  queue: DocumentQueue,
  name: string,
  log: string[],
  options: { bytes?: number; signal?: AbortSignal } = {},
) {
  const end = Promise.withResolvers<void>();
  const done = queue.run(options.bytes ?? 0, options.signal ?? signal, async () => {
    log.push(`${name} begins`);
    await end.promise;
    log.push(`${name} ends`);
  });
  return { end: end.resolve, fail: end.reject, done };
}

test("runs documents one at a time and in order, and continues after a failure", async () => {
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

test("refuses a document when more than 16 MiB would wait, and accepts it when there is room", async () => {
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

test("removes a document from the queue when its caller cancels", async () => {
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

test("refuses a document after the maximum wait", async () => {
  const queue = new DocumentQueue(50);
  const log: string[] = [];
  const running = enqueue(queue, "running", log);
  await expect(enqueue(queue, "late", log).done).rejects.toMatchObject({ code: "too_many_documents" });
  running.end();
  await running.done;
  expect(log).toEqual(["running begins", "running ends"]);
});
