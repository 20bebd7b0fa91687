import { EventEmitter } from "node:events";
import { setImmediate as nextIteration } from "node:timers/promises";
import { expect, test } from "vitest";
import { createRedisLiveBus } from "./redis-live-bus.client.ts";

const SIGNAL = { workspaceId: "w", sessionId: "s", type: "changed" } as const;

/** Creates a bus whose Redis receives signals and returns none. */
async function createBus() {
  const subscriber = Object.assign(new EventEmitter(), { subscribe: async () => 1 });
  const publisher = { status: "ready", publish: async (): Promise<number> => 1 };
  const bus = createRedisLiveBus(() => publisher as never, subscriber as never);
  subscriber.emit("ready");
  await nextIteration();
  const received: string[] = [];
  bus.subscribe({ workspaceId: "w" }, ({ type }) => received.push(type));
  return { bus, publisher, subscriber, received };
}

test("passes a signal to this process if Redis fails to take it", async () => {
  const { bus, publisher, received } = await createBus();
  bus.publish(SIGNAL);
  await nextIteration();
  expect(received).toEqual([]);
  publisher.publish = async () => {
    throw new Error("connection lost");
  };
  bus.publish(SIGNAL);
  await nextIteration();
  expect(received).toEqual(["changed"]);
});

test("wakes the readers once when Redis is lost, because they wait longer while it is there", async () => {
  const { bus, subscriber, received } = await createBus();
  expect(bus.isShared()).toBe(true);
  subscriber.emit("close");
  subscriber.emit("close");
  expect(bus.isShared()).toBe(false);
  expect(received).toEqual(["changed"]);
});
