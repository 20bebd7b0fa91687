import { createRegistry } from "@parley/service-kit";
import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

test("every finish reason and reason of a refused stream has a series from the start", async () => {
  const registry = createRegistry("edge");
  createMetrics(registry, { jwksAgeSeconds: () => 0 });
  const page = await registry.metrics();
  for (const series of [
    'parley_streams_refused_total{reason="overload",service="edge"} 0',
    'parley_turns_total{finish="error",code="provider_timeout",service="edge"} 0',
    'parley_turns_total{finish="quota_exceeded",code="quota_exceeded",service="edge"} 0',
  ])
    expect(page).toContain(series);
});

test("the duration of replies from 1 to 20 s is measured to within a third", async () => {
  const registry = createRegistry("edge");
  createMetrics(registry, { jwksAgeSeconds: () => 0 });
  const bounds = [...(await registry.metrics()).matchAll(/parley_turn_duration_seconds_bucket{le="([\d.]+)"/g)]
    .map(([, bound]) => Number(bound))
    .filter((bound) => bound >= 1 && bound <= 20);
  expect(bounds[0]).toBe(1);
  expect(bounds.at(-1)).toBe(20);
  for (const [index, bound] of bounds.slice(1).entries()) expect(bound / (bounds[index] ?? 0)).toBeLessThanOrEqual(1.5);
});
