import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readMetric } from "./metrics.ts";

const METRICS = `# HELP refused_total Refused requests.
# TYPE refused_total counter
refused_total{code="a",service="edge"} 2
refused_total{code="b",service="edge"} 3

# HELP stalled_total Stalled streams.
# TYPE stalled_total counter

# HELP duration_seconds Duration.
# TYPE duration_seconds histogram
duration_seconds_bucket{le="+Inf",method="m"} 4
duration_seconds_sum{method="m"} 8
duration_seconds_count{method="m"} 4

# HELP open Open streams.
# TYPE open gauge
open 5
`;
const server = createServer((_, response) => void response.end(METRICS));
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve)));
afterAll(() => void server.close());

const read = (name: string, labels?: Record<string, string>) =>
  readMetric({ opsPort: (server.address() as AddressInfo).port }, name, labels);

test("readMetric sums the series that have all given labels", async () => {
  expect(await read("refused_total")).toBe(5);
  expect(await read("refused_total", { code: "b" })).toBe(3);
  expect(await read("duration_seconds_count", { method: "m" })).toBe(4);
  expect(await read("open")).toBe(5);
});

test("readMetric returns 0 for a metric without series", async () => {
  expect(await read("stalled_total", { code: "a" })).toBe(0);
});

test.each(["stalled", "refused", "duration_seconds_total"])(
  "readMetric throws for the unknown metric %s",
  async (name) => expect(read(name)).rejects.toThrow(`no metric ${name}`),
);
