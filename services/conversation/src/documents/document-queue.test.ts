import { expect, test } from "vitest";
import { DocumentQueue } from "./document-queue.ts";

const MiB = 1024 * 1024;
const signal = new AbortController().signal;

/** Work that begins in the queue and ends when the test says. */
function work(
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

test("runs one after the other, in order, also after one that fails", async () => {
  const queue = new DocumentQueue();
  const log: string[] = [];
  const [one, two, three] = ["one", "two", "three"].map((name) => work(queue, name, log));
  three?.end();
  two?.fail(new Error("unreadable"));
  one?.end();
  await expect(two?.done).rejects.toThrow("unreadable");
  await three?.done;
  expect(log).toEqual(["one begins", "one ends", "two begins", "three begins", "three ends"]);
  const four = work(queue, "four", log);
  four.end();
  await four.done;
  expect(log.at(-1)).toBe("four ends");
});

test("refuses a document when more than 16 MiB would wait, and takes it when there is room", async () => {
  const queue = new DocumentQueue();
  const log: string[] = [];
  const running = work(queue, "running", log, { bytes: 16 * MiB });
  const waiting = work(queue, "waiting", log, { bytes: 10 * MiB });
  await expect(work(queue, "refused", log, { bytes: 7 * MiB }).done).rejects.toMatchObject({
    kind: "resource_exhausted",
    code: "too_many_documents",
    message: expect.stringContaining("try again"),
  });
  running.end();
  await running.done;
  const taken = work(queue, "taken", log, { bytes: 7 * MiB });
  waiting.end();
  taken.end();
  await taken.done;
  expect(log).not.toContain("refused begins");
});

test("a document whose caller cancels leaves the queue", async () => {
  const queue = new DocumentQueue();
  const log: string[] = [];
  const cancelled = new AbortController();
  const running = work(queue, "running", log);
  const leaving = work(queue, "leaving", log, { bytes: 16 * MiB, signal: cancelled.signal });
  const waiting = work(queue, "waiting", log);
  cancelled.abort(new Error("cancelled"));
  await expect(leaving.done).rejects.toThrow("cancelled");
  running.end();
  waiting.end();
  await waiting.done;
  expect(log).toEqual(["running begins", "running ends", "waiting begins", "waiting ends"]);
});

test("a document waits no longer than the limit", async () => {
  const queue = new DocumentQueue(50);
  const log: string[] = [];
  const running = work(queue, "running", log);
  await expect(work(queue, "late", log).done).rejects.toMatchObject({ code: "too_many_documents" });
  running.end();
  await running.done;
  expect(log).toEqual(["running begins", "running ends"]);
});
