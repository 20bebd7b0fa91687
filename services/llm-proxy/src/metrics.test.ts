import { Registry } from "@parley/service-kit";
import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

test("counters that alerts read have a series for each result from the start", async () => {
  const registry = new Registry();
  createMetrics(registry, () => []);
  const text = await registry.metrics();
  for (const result of ["applied", "refused"])
    expect(text).toContain(`parley_llm_config_reloads_total{result="${result}"} 0`);
  for (const result of ["stored", "late", "dropped"])
    expect(text).toContain(`parley_llm_call_log_rows_total{result="${result}"} 0`);
});
