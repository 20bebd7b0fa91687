import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { MemberCallLimiter } from "./member-call-limiter.ts";

const SMALL = { contentLength: "100", isCompressed: false };
const LARGE = { contentLength: String(16 * 1024 * 1024), isCompressed: false };

/** Creates a limiter. `entered` lists the workspaces of the calls that it has admitted. */
function createLimiter(maxUploadWaitMs?: number) {
  const limiter = new MemberCallLimiter(maxUploadWaitMs);
  const entered: string[] = [];
  const enter = (workspaceId: string, body = SMALL) => {
    const call = new AbortController();
    const admitted = limiter.enter(workspaceId, body, call.signal).then(() => void entered.push(workspaceId));
    admitted.catch(() => undefined);
    return { admitted, end: () => call.abort(new Error("ended")) };
  };
  return { entered, enter };
}

test("at most four calls of a workspace run concurrently, and the next one starts when one has ended", async () => {
  const { entered, enter } = createLimiter();
  const calls = Array.from({ length: 6 }, () => enter("a"));
  enter("b");
  await setImmediate();
  expect(entered).toEqual(["a", "a", "a", "a", "b"]);
  calls[0]?.end();
  await setImmediate();
  expect(entered.filter((each) => each === "a")).toHaveLength(5);
});

test.each([
  ["a large body", LARGE],
  ["a body of unknown length", { contentLength: null, isCompressed: false }],
  ["a body whose length is not written in digits", { contentLength: "1e9", isCompressed: false }],
  ["a compressed body", { contentLength: "100", isCompressed: true }],
])("at most one upload (a call with %s) runs per workspace, and at most four uploads run in total", async (_, body) => {
  const { entered, enter } = createLimiter();
  const first = enter("a", body as typeof SMALL);
  for (const workspace of ["a", "a", "b", "c", "d", "e"]) enter(workspace, body as typeof SMALL);
  await setImmediate();
  expect(entered).toEqual(["a", "b", "c", "d"]);
  enter("a");
  await setImmediate();
  expect(entered).toEqual(["a", "b", "c", "d", "a"]);
  first.end();
  await setImmediate();
  // Workspace e's first upload runs before workspace a's second one.
  expect(entered.at(-1)).toBe("e");
});

test("a call that is cancelled while it waits does not run", async () => {
  const { entered, enter } = createLimiter();
  const running = enter("a", LARGE);
  const waiting = enter("a", LARGE);
  const next = enter("a", LARGE);
  await running.admitted;
  waiting.end();
  running.end();
  await expect(waiting.admitted).rejects.toThrow("ended");
  await next.admitted;
  expect(entered).toEqual(["a", "a"]);
  next.end();
});

test("a waiting call with a small body is rejected at once when it is cancelled", async () => {
  const { enter } = createLimiter();
  for (let count = 0; count < 4; count++) enter("a");
  const waiting = enter("a");
  waiting.end();
  await expect(waiting.admitted).rejects.toThrow("ended");
});

test.each([
  ["is cancelled", (waiting: { end: () => void }) => waiting.end()],
  ["is refused", () => undefined],
])("a waiting upload that %s does not delay its workspace's next upload", async (_, leave) => {
  const { entered, enter } = createLimiter(50);
  const running = ["b", "c", "d", "e"].map((workspace) => enter(workspace, LARGE));
  const waiting = enter("a", LARGE);
  await setImmediate();
  leave(waiting);
  await expect(waiting.admitted).rejects.toThrow();
  enter("a", LARGE);
  await setImmediate();
  enter("f", LARGE);
  running[0]?.end();
  await setImmediate();
  expect(entered.slice(4)).toEqual(["a"]);
});

test("an upload that waits for too long is refused and never runs", async () => {
  const { entered, enter } = createLimiter(10);
  const running = enter("a", LARGE);
  const waiting = enter("a", LARGE);
  await running.admitted;
  await expect(waiting.admitted).rejects.toMatchObject({ kind: "resource_exhausted", code: "too_many_documents" });
  running.end();
  await enter("a", LARGE).admitted;
  expect(entered).toEqual(["a", "a"]);
});
