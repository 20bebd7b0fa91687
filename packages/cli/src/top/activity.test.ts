import { describe, expect, test } from "vitest";
import { computeActivity, dropOldSamples } from "./activity.ts";
import { parseExposition } from "./exposition.ts";
import type { Replica, Sample, Service } from "./scrape.ts";

const replica = (service: Service, url: string, page: string | undefined): Replica => ({
  service,
  url,
  ...(page === undefined ? { series: undefined, problem: "is unreachable" } : { series: parseExposition(page) }),
});
const sample = (atMs: number, ...replicas: Replica[]): Sample => ({ atMs, replicas });

const histogram = (fast: number, slow: number) =>
  `
  parley_first_token_seconds_bucket{le="0.1"} ${fast}
  parley_first_token_seconds_bucket{le="1"} ${fast + slow}
  parley_first_token_seconds_bucket{le="+Inf"} ${fast + slow}`.replaceAll(/^ +/gm, "");

describe("activity", () => {
  test("sums open streams over replicas, and takes the maximum of the outbox gauges and of the breaker states", () => {
    const result = computeActivity(
      [
        sample(
          0,
          replica("edge", "a", "parley_streams_open 3"),
          replica("edge", "b", "parley_streams_open 4\nparley_rate_limiter_on_fallback 1"),
          replica("edge", "c", undefined),
          replica("conversation", "d", "parley_outbox_depth 7\nparley_outbox_oldest_seconds NaN"),
          replica("conversation", "e", "parley_outbox_depth 8"),
          replica("llm-proxy", "f", 'parley_llm_breaker_state{provider="p"} 2'),
          replica("llm-proxy", "g", 'parley_llm_breaker_state{provider="p"} 0'),
        ),
      ],
      null,
    );
    expect(result).toMatchObject({
      streams_open: 7,
      outbox: { depth: 8, oldest_seconds: null },
      breakers: [{ provider: "p", state: "open" }],
      rate_limiter_alone: true,
      // A rate needs two samples.
      tokens_per_second: null,
    });
    expect(result.replicas.filter(({ up }) => !up)).toEqual([{ service: "edge", url: "c", up: false }]);
  });

  test("sums rates over replicas, counts a restarted replica from zero and skips a new one", () => {
    const tokens = (
      value: number,
    ) => `gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_token_type="output"} ${value}
gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_token_type="input"} 9999`;
    const result = computeActivity(
      [
        sample(0, replica("llm-proxy", "a", tokens(1_000)), replica("llm-proxy", "b", tokens(500))),
        sample(
          2_000,
          replica("llm-proxy", "a", tokens(1_100)),
          replica("llm-proxy", "b", tokens(60)),
          replica("llm-proxy", "c", tokens(70_000)),
        ),
      ],
      null,
    );
    expect(result.tokens_per_second).toBe(80);
  });

  test("computes quantiles over the last minute, or since the replicas started if the last minute has no observations", () => {
    const old = sample(0, replica("edge", "a", histogram(1_000, 0)));
    const busy = computeActivity([old, sample(30_000, replica("edge", "a", histogram(1_000, 100)))], null);
    expect(busy.first_token).toEqual({ p50_ms: 550, p99_ms: 991, window_seconds: 30 });
    const idle = computeActivity([old, sample(30_000, replica("edge", "a", histogram(1_000, 0)))], null);
    expect(idle.first_token).toEqual({ p50_ms: 50, p99_ms: 99, window_seconds: null });
  });

  test("divides the time to the first token into Parley's part and each provider's, over its models", () => {
    const buckets = (name: string, labels: string, count: number) =>
      [0.1, 1, "+Inf"].map((le) => `${name}_bucket{${labels}le="${le}"} ${le === 0.1 ? 0 : count}`).join("\n");
    const provider = (name: string, model: string, count: number) => {
      const metric = "gen_ai_client_operation_time_to_first_chunk_seconds";
      const labels = `gen_ai_provider_name="${name}",gen_ai_request_model="${model}"`;
      return `${buckets(metric, `${labels},`, count)}\n${metric}_count{${labels}} ${count}`;
    };
    const own =
      'parley_first_token_overhead_seconds_bucket{le="0.01"} 4\nparley_first_token_overhead_seconds_bucket{le="+Inf"} 4';
    const llm = [provider("openai", "a", 3), provider("openai", "b", 1), provider("idle", "c", 0)].join("\n");
    const { own_first_token, provider_first_token } = computeActivity(
      [sample(0, replica("edge", "a", own), replica("llm-proxy", "b", llm))],
      null,
    );
    expect(own_first_token).toEqual({ p50_ms: 5, p99_ms: 10, window_seconds: null });
    expect(provider_first_token).toEqual([{ provider: "openai", p50_ms: 550, p99_ms: 991, window_seconds: null }]);
  });

  test("lists refusals by reason, including turns that the quota or moderation ended, most frequent first", () => {
    const page = (limited: number, exceeded: number) => `
parley_requests_refused_total{route="/api/chat/",code="rate_limited"} ${limited}
parley_requests_refused_total{route="/api/chat/rating/",code="rate_limited"} 1
parley_streams_refused_total{reason="client"} 99
parley_turns_total{finish="stop",code=""} 50
parley_turns_total{finish="blocked",code=""} 1
parley_turns_total{finish="quota_exceeded",code="quota_exceeded"} ${exceeded}`;
    const samples = [sample(0, replica("edge", "a", page(5, 2))), sample(30_000, replica("edge", "a", page(6, 12)))];
    expect(computeActivity(samples, null).refusals).toEqual([
      { reason: "quota_exceeded", per_minute: 20, total: 12 },
      { reason: "rate_limited", per_minute: 2, total: 7 },
      { reason: "blocked", per_minute: 0, total: 1 },
    ]);
  });

  test("keeps the samples within the window and the last sample before the window", () => {
    const samples = Array.from({ length: 100 }, (_, second) => sample(second * 1_000));
    const kept = dropOldSamples(samples);
    expect(kept.at(-1)).toBe(samples.at(-1));
    // The samples of seconds 39 to 99 are within the window. The last sample before the window is that of second 38.
    expect(kept.length).toBe(62);
    expect(dropOldSamples([])).toEqual([]);
  });
});
