import { Registry } from "@parley/service-kit";
import { expect, test } from "vitest";
import { createStreamMetrics } from "./stream.metrics.ts";

test("the counter of refused streams has a series for each reason from the start", async () => {
  const registry = new Registry();
  createStreamMetrics(registry);
  const text = await registry.metrics();
  for (const reason of ["process", "client", "workspace", "overload", "draining"])
    expect(text).toContain(`parley_streams_refused_total{reason="${reason}"} 0`);
});
