import { expect, test } from "vitest";
import { FairQueue } from "./fair-queue.ts";

const signal = new AbortController().signal;

test("limits how many jobs of a workspace run concurrently, and starts queued jobs in order", async () => {
  const limiter = new FairQueue({ maxActiveOfWorkspace: 2 });
  const release = Promise.withResolvers<void>();
  const started: string[] = [];
  const job = (workspaceId: string, name: string) =>
    limiter.run(workspaceId, signal, () => {
      started.push(name);
      return release.promise;
    });
  const jobs = [job("a", "a1"), job("a", "a2"), job("a", "a3"), job("b", "b1"), job("a", "a4")];
  await expect.poll(() => started).toEqual(["a1", "a2", "b1"]);
  release.resolve();
  await Promise.all(jobs);
  expect(started).toEqual(["a1", "a2", "b1", "a3", "a4"]);
});

test("rejects a waiting job as soon as its caller cancels", async () => {
  const limiter = new FairQueue({ maxActiveOfWorkspace: 1 });
  const release = Promise.withResolvers<void>();
  const first = limiter.run("a", signal, () => release.promise);
  const caller = new AbortController();
  const cancelled = limiter.run("a", caller.signal, async () => "started");
  const next = limiter.run("a", signal, async () => "next");
  caller.abort(new Error("cancelled"));
  await expect(cancelled).rejects.toThrow("cancelled");
  release.resolve();
  await first;
  expect(await next).toBe("next");
});

test("starts the next job after a failed one", async () => {
  const limiter = new FairQueue({ maxActiveOfWorkspace: 1 });
  await expect(limiter.run("a", signal, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  expect(await limiter.run("a", signal, async () => "next")).toBe("next");
});

test("the workspaces of a group together leave as many places free as they take", async () => {
  const limiter = new FairQueue({ maxActive: 8, maxActivePerFreePlace: 1, groupOf: (id) => id[0] });
  const release = Promise.withResolvers<void>();
  const started: string[] = [];
  const jobs = ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "b2", "c1"].map((id) =>
    limiter.run(id, signal, () => {
      started.push(id);
      return release.promise;
    }),
  );
  await expect.poll(() => started).toEqual(["a1", "a2", "a3", "a4", "b1", "b2", "c1"]);
  release.resolve();
  await Promise.all(jobs);
  expect(started).toHaveLength(9);
});

test("the end of a job that started before its workspace had a group does not free a place of the group", async () => {
  const groups = new Map([["b", "group"]]);
  const limiter = new FairQueue({ maxActive: 4, maxActivePerFreePlace: 1, groupOf: (id) => groups.get(id) });
  const endUngrouped = await limiter.acquire("a", signal);
  const endOther = await limiter.acquire("b", signal);
  groups.set("a", "group");
  const endGrouped = await limiter.acquire("a", signal);
  endUngrouped();
  // Two jobs of the group run, and two places are free.
  expect(limiter.mayStart("b")).toBe(false);
  endOther();
  endGrouped();
  expect(limiter.mayStart("b")).toBe(true);
});
