import { expect, test } from "vitest";
import { chatFigure, healthFigure } from "./neighbour.ts";

const quiet = { chatMs: 100, healthMs: 2 };
const attacked = { chatMs: 110, healthMs: 30 };

test("healthFigure reports the health checks' p99 during the attack", () => {
  expect(healthFigure("attack", quiet, attacked)).toMatchObject({
    value: 30,
    detail: "health check p99 2 ms without the attack, 30 ms with it",
  });
});

test("chatFigure reports the chats' p99 during the attack divided by the p99 without it", () => {
  expect(chatFigure("attack", quiet, attacked)).toMatchObject({
    value: 1.1,
    detail: "chat p99 100 ms without the attack, 110 ms with it",
  });
});
