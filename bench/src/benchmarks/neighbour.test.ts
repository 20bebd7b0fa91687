import { expect, test } from "vitest";
import { atEdge, ofChats } from "./neighbour.ts";

const quiet = { chatMs: 100, healthMs: 2 };
const attacked = { chatMs: 110, healthMs: 30 };

test("the figure at the edge describes the health checks, whose p99 it compares with the goal", () => {
  expect(atEdge("attack", quiet, attacked)).toMatchObject({
    value: 30,
    detail: "health check p99 2 ms without, 30 ms with",
  });
});

test("the figure of the chats describes the chats, whose ratio it compares with the goal", () => {
  expect(ofChats("attack", quiet, attacked)).toMatchObject({
    value: 1.1,
    detail: "chat p99 100 ms without, 110 ms with",
  });
});
