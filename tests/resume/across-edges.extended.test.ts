import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { readBalance } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import type { ServiceProcess } from "../system/processes.ts";
import type { System, Tenant } from "../system/system.ts";
import { createReplyClient, SLOW_REPLY, startTwoEdges, TEXT, WAIT_MS } from "./replies.ts";
import { unlimitedRetriesSuite } from "./suites/generated-client.ts";

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  ({ system, tenant } = await startTwoEdges());
});
afterAll(() => system?.stop());
beforeEach(() => system.provider.reset());

const { edgeAt, follow, newMessage, open, read, readCharacters, statusOf, stop } = createReplyClient(() => ({
  system,
  tenant,
}));

describe("a reply that another edge runs", () => {
  test("is sent after it is stored if the other edge is unreachable, and a stop request gets 503", async () => {
    // Other edges call this edge at 127.0.0.2, but it listens on 127.0.0.1 only.
    const unreachable = await system.startEdge({ EDGE_RPC_ADDRESS: "127.0.0.2" });
    const message = newMessage();
    const opener = await open(unreachable, message);
    const [waiting, stopped] = await Promise.all([read(edgeAt(1), message), stop(edgeAt(1), message)]);
    expect(waiting).toMatchObject({ text: TEXT, done: (await opener.end).done });
    expect([stopped.status, await stopped.json()]).toEqual([503, { error: "unavailable" }]);
    await unreachable.stop();
  });

  test("ends with the outcome that the sweeper stores if the other edge is killed", async () => {
    const doomed = await system.startEdge({});
    const message = newMessage();
    const opener = await open(doomed, message);
    const openerEnd = opener.end.catch(() => "broken");
    const remote = await follow(edgeAt(1), message);
    await doomed.kill9();
    expect(await openerEnd).toBe("broken");
    // The text so far is not stored, so the edge resets the connection, and the reader must begin again.
    expect(await remote.end).toBe("reset");
    const end = await read(edgeAt(1), message);
    expect(end).toMatchObject({ text: "", error: { code: "internal_error" }, done: { finish_reason: "error" } });
    expect(await statusOf(message)).toBe("interrupted");
    await doomed.start();
    const { events } = await read(doomed, message);
    expect(events).toEqual(end.events);
  });
});

describe("a reply without readers", () => {
  test("is cancelled after DETACHED_REPLY_MS, and continues if a reader comes back before that", async () => {
    const edge = await system.startEdge({ DETACHED_REPLY_MS: "2000" });
    system.provider.script(() => SLOW_REPLY);
    const abandoned = newMessage();
    await readCharacters(edge, abandoned, 3);
    const resumed = newMessage();
    const { id } = await readCharacters(edge, resumed, 3);
    // Long enough for the edge to detect that both readers have left.
    await sleep(700);
    expect((await read(edge, resumed, id)).done).toMatchObject({ finish_reason: "stop" });
    await expect.poll(() => statusOf(abandoned), { timeout: WAIT_MS }).toBe("cancelled");
    for (const result of ["cancelled", "resumed"])
      await expect
        .poll(() => readMetric(edge, "parley_turns_detached_total", { result }), { timeout: WAIT_MS })
        .toBe(1);
    await edge.stop();
  });

  test("completes during the drain of its edge, and the drain disconnects the readers of other edges' replies", async () => {
    const edge = await system.startEdge({});
    const message = newMessage();
    await readCharacters(edge, message, 3);
    const messageOfOtherEdge = newMessage();
    const opener = await open(edgeAt(0), messageOfOtherEdge);
    const remote = await follow(edge, messageOfOtherEdge);
    await edge.stop();
    expect(await remote.end).toBe("reset");
    expect(await statusOf(message)).toBe("done");
    expect((await opener.end).text).toBe(TEXT);
  });

  test("ends as an error when its edge's drain is over", async () => {
    const edge = await system.startEdge({ DRAIN_MS: "300" });
    const message = newMessage();
    await readCharacters(edge, message, 3);
    await edge.stop();
    const end = await read(edgeAt(0), message);
    expect(end.done).toMatchObject({ finish_reason: "error" });
    expect(await statusOf(message)).toBe("error");
  });
});

test("a reader is disconnected if the reply cannot be stored for 10 s, and gets the stored end later", async () => {
  const message = newMessage();
  const startedAt = performance.now();
  const opener = await open(edgeAt(0), message);
  const openerEnd = opener.end.then(
    () => "whole",
    () => "reset",
  );
  await system.conversation.kill9();
  expect(await openerEnd).toBe("reset");
  // The reply takes 3 s. The edge then waits 10 s for the stored outcome before it resets the reader.
  expect(performance.now() - startedAt).toBeGreaterThan(11_000);
  await system.conversation.start();
  await expect.poll(() => statusOf(message), { timeout: 20_000 }).not.toBe("streaming");
  // An edge returns 503 until it is connected to the conversation service again, which takes up to 1.2 s.
  const readWhenConnected = (edge: ServiceProcess) => vi.waitFor(() => read(edge, message), { timeout: WAIT_MS });
  const [one, two] = await Promise.all([readWhenConnected(edgeAt(0)), readWhenConnected(edgeAt(1))]);
  expect(one.events).toEqual(two.events);
  expect(one.done).toMatchObject({ finish_reason: expect.stringMatching(/^(stop|error)$/) });
});

unlimitedRetriesSuite(() => ({ system, tenant, replyText: TEXT }));

test("no hold is left after the other tests, and usage matches the turns", async () => {
  await expect
    .poll(() => readBalance(system.database), { timeout: 20_000, interval: 500 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
});
