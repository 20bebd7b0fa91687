import { expect, test } from "vitest";
import { Counter, createRegistry, startAtZero } from "./metrics.ts";

test("startAtZero creates a series with the value 0 for each combination of label values", async () => {
  const registry = createRegistry("test");
  const counter = new Counter({ name: "things_total", help: "x", labelNames: ["a", "b"], registers: [registry] });
  counter.inc({ a: "1", b: "x" }, 3);
  startAtZero(counter, { a: ["1", "2"], b: ["x", "y"] });
  const { values } = await counter.get();
  expect(values.map(({ labels, value }) => [labels.a, labels.b, value])).toEqual([
    ["1", "x", 3],
    ["1", "y", 0],
    ["2", "x", 0],
    ["2", "y", 0],
  ]);
});
