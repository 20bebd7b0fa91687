import { expect, test } from "vitest";
import { parseExposition } from "./exposition.ts";

test("parseExposition parses Prometheus series, including escaped labels, and skips other lines", () => {
  const page = [
    "# HELP a_total A counter.",
    "# TYPE a_total counter",
    "a_total 3",
    'a_total{x="1, \\"2\\" {3}\\n\\\\",y=""} 1.5e3 1700000000000',
    'b_bucket{le="+Inf"} +Inf',
    "c NaN",
    "",
    "not a series",
  ].join("\n");
  expect(parseExposition(page)).toEqual([
    { name: "a_total", labels: {}, value: 3 },
    { name: "a_total", labels: { x: '1, "2" {3}\n\\', y: "" }, value: 1_500 },
    { name: "b_bucket", labels: { le: "+Inf" }, value: Infinity },
    { name: "c", labels: {}, value: NaN },
  ]);
});
