import { EventEmitter } from "node:events";
import { Registry } from "@parley/service-kit";
import { expect, test } from "vitest";
import { createStreamMetrics } from "./stream.metrics.ts";
import { createStreamRegistry } from "./stream-registry.ts";

test("the live streams of visitors take at most half of the places, and leave the others to replies", () => {
  const limits = { maxOpen: 4, maxOpenPerClient: 4 };
  const streams = createStreamRegistry(limits, createStreamMetrics(new Registry()), () => 0);
  const open = (client: string, isLive: boolean) => {
    const raw = Object.assign(new EventEmitter(), { writableLength: 0, writableFinished: true });
    const { release } = streams.open(raw as never, client, { isLive });
    return () => {
      release();
      raw.emit("close");
    };
  };
  const close = open("a", true);
  open("b", true);
  expect(() => open("c", true)).toThrow();
  open("c", false);
  close();
  open("c", true);
  open("d", false);
  expect(() => open("e", false)).toThrow();
});
