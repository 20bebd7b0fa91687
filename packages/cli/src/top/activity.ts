import type { Series } from "./exposition.ts";
import { type Buckets, estimateQuantile } from "./quantile.ts";
import type { Sample, Service } from "./scrape.ts";

/** The time windows of rates and quantiles. Refusals per minute use the quantile window. */
const RATE_WINDOW_MS = 10_000;
const QUANTILE_WINDOW_MS = 60_000;
/** A sample may be older than the window by this much, because timers and scrapes may be late. */
const SAMPLE_TOLERANCE_MS = 500;

/** The current month's messages of a workspace: `used`, `held` by turns that are not yet settled, and `cap`, the plan's limit. */
export type WorkspaceUsage = { id: string; name: string; plan: string; used: number; held: number; cap: number };

/** Quantiles of a time. `window_seconds` is null if they cover all turns since the replicas started. */
export type Times = { p50_ms: number | null; p99_ms: number | null; window_seconds: number | null };

/** The values that `parley top` shows. Unavailable values are null. */
export type Activity = {
  replicas: { service: Service; url: string; up: boolean }[];
  streams_open: number | null;
  tokens_per_second: number | null;
  turns_per_second: number | null;
  first_token: Times;
  /** Parley's part of the time to the first token: without the provider, llm-proxy's queue for the provider, and tool calls. */
  own_first_token: Times;
  /** The providers' part: the time from the request of an attempt to its first text. */
  provider_first_token: ({ provider: string } & Times)[];
  /** Refusals by reason, most frequent first. */
  refusals: { reason: string; per_minute: number; total: number }[];
  quota: WorkspaceUsage[] | null;
  breakers: { provider: string; state: "closed" | "half_open" | "open" }[];
  outbox: { depth: number | null; oldest_seconds: number | null };
  /** Whether an edge made its last rate limit decision on its own, because Redis did not respond in time. */
  rate_limiter_alone: boolean;
  /** Errors that made values unavailable. */
  problems: string[];
};

/** Computes the activity from samples (oldest first) and the quota service's response. */
export function computeActivity(samples: readonly Sample[], quota: WorkspaceUsage[] | null): Activity {
  const latest = samples.at(-1);
  if (latest === undefined) throw new Error("no sample");
  const rateSince = oldestWithin(samples, RATE_WINDOW_MS);
  const quantileSince = oldestWithin(samples, QUANTILE_WINDOW_MS);
  const isUp = (service: Service) => latest.replicas.some((each) => each.service === service && each.series);
  const perSecond = (service: Service, name: string, labels?: Labels) =>
    isUp(service) ? computeRate(rateSince, latest, name, labels) : null;
  return {
    replicas: latest.replicas.map(({ service, url, series }) => ({ service, url, up: series !== undefined })),
    streams_open: isUp("edge") ? sumOfSeries(latest, "parley_streams_open") : null,
    tokens_per_second: perSecond("llm-proxy", "gen_ai_client_token_usage_sum", {
      gen_ai_operation_name: "chat",
      gen_ai_token_type: "output",
    }),
    turns_per_second: perSecond("edge", "parley_turns_total"),
    first_token: computeTimes(quantileSince, latest, "parley_first_token_seconds"),
    own_first_token: computeTimes(quantileSince, latest, "parley_first_token_overhead_seconds"),
    provider_first_token: computeProviderTimes(quantileSince, latest),
    refusals: computeRefusals(quantileSince, latest),
    quota,
    breakers: findBreakers(latest),
    outbox: {
      depth: maxOfSeries(latest, "parley_outbox_depth"),
      oldest_seconds: maxOfSeries(latest, "parley_outbox_oldest_seconds"),
    },
    rate_limiter_alone: (maxOfSeries(latest, "parley_rate_limiter_on_fallback") ?? 0) > 0,
    problems: latest.replicas.flatMap(({ service, url, problem }) =>
      problem === undefined ? [] : [`${service} at ${url} ${problem}`],
    ),
  };
}

type Labels = Series["labels"];

export function dropOldSamples(samples: readonly Sample[]): Sample[] {
  const now = samples.at(-1)?.atMs ?? 0;
  // Keeps one sample before the window, so that the window is complete.
  const first = samples.findIndex(({ atMs }) => now - atMs <= QUANTILE_WINDOW_MS);
  return samples.slice(Math.max(0, first - 1));
}

function oldestWithin(samples: readonly Sample[], windowMs: number): Sample | undefined {
  const now = samples.at(-1)?.atMs ?? 0;
  return samples.slice(0, -1).find(({ atMs }) => now - atMs <= windowMs + SAMPLE_TOLERANCE_MS);
}

type Point = { replica: string; labels: Labels; value: number };

function findPoints({ replicas }: Sample, name: string, labels: Labels = {}): Point[] {
  return replicas.flatMap(({ service, url, series = [] }) =>
    series
      .filter(
        (each) => each.name === name && Object.entries(labels).every(([key, value]) => each.labels[key] === value),
      )
      .map((each) => ({ replica: `${service} ${url}`, labels: each.labels, value: each.value })),
  );
}

function sumOfSeries(sample: Sample, name: string, labels?: Labels): number {
  return findPoints(sample, name, labels).reduce((sum, { value }) => sum + value, 0);
}

/** Returns the maximum of a gauge over all replicas; null if no replica has it. */
function maxOfSeries(sample: Sample, name: string): number | null {
  const values = findPoints(sample, name).flatMap(({ value }) => (Number.isNaN(value) ? [] : [value]));
  return values.length === 0 ? null : Math.max(...values);
}

/**
 * Returns how much each series of a counter has increased since an earlier sample. After a replica's restart, counts from zero. If the earlier
 * sample lacks the replica, the increase is 0.
 */
function computeIncreases(since: Sample | undefined, latest: Sample, name: string, labels?: Labels): Point[] {
  const before = new Map(since && findPoints(since, name, labels).map((point) => [keyOf(point), point.value]));
  const sampledBefore = new Set(
    since?.replicas.flatMap(({ service, url, series }) => (series ? [`${service} ${url}`] : [])),
  );
  return findPoints(latest, name, labels).map((point) => {
    const earlier = before.get(keyOf(point)) ?? (sampledBefore.has(point.replica) ? 0 : point.value);
    return { ...point, value: point.value >= earlier ? point.value - earlier : point.value };
  });
}

function keyOf({ replica, labels }: Point): string {
  return JSON.stringify([replica, labels]);
}

function computeRate(since: Sample | undefined, latest: Sample, name: string, labels?: Labels): number | null {
  if (since === undefined) return null;
  const increases = computeIncreases(since, latest, name, labels).reduce((sum, { value }) => sum + value, 0);
  return round(increases / ((latest.atMs - since.atMs) / 1_000), 1);
}

const PROVIDER_TIME = "gen_ai_client_operation_time_to_first_chunk_seconds";

/** Computes the times of each provider that has sent text, by name. */
function computeProviderTimes(since: Sample | undefined, latest: Sample): Activity["provider_first_token"] {
  const providers = findPoints(latest, `${PROVIDER_TIME}_count`).flatMap(({ labels, value }) =>
    value > 0 && labels.gen_ai_provider_name !== undefined ? [labels.gen_ai_provider_name] : [],
  );
  return [...new Set(providers)]
    .toSorted((a, b) => a.localeCompare(b))
    .map((provider) => ({
      provider,
      ...computeTimes(since, latest, PROVIDER_TIME, { gen_ai_provider_name: provider }),
    }));
}

/** Computes quantiles of a histogram since the sample `since`. If it has no observation since then, since the processes started. */
function computeTimes(since: Sample | undefined, latest: Sample, histogram: string, labels?: Labels): Times {
  const name = `${histogram}_bucket`;
  const windowBuckets = sumBuckets(since === undefined ? [] : computeIncreases(since, latest, name, labels));
  const isRecent = estimateQuantile(0.5, windowBuckets) !== undefined;
  const chosen = isRecent ? windowBuckets : sumBuckets(findPoints(latest, name, labels));
  const quantileMs = (quantile: number) => {
    const seconds = estimateQuantile(quantile, chosen);
    return seconds === undefined ? null : round(seconds * 1_000, 0);
  };
  const windowSeconds = isRecent && since ? Math.round((latest.atMs - since.atMs) / 1_000) : null;
  return { p50_ms: quantileMs(0.5), p99_ms: quantileMs(0.99), window_seconds: windowSeconds };
}

function sumBuckets(series: readonly Point[]): Buckets {
  const sums = new Map<number, number>();
  for (const { labels, value } of series) {
    const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
    sums.set(bound, (sums.get(bound) ?? 0) + value);
  }
  return sums;
}

/** Counts, by reason, the requests refused before their stream began, and the streams that the quota service or a moderation pattern ended. */
function computeRefusals(since: Sample | undefined, latest: Sample): Activity["refusals"] {
  const counters: [name: string, label: string, keep: (point: Point) => boolean][] = [
    ["parley_requests_refused_total", "code", () => true],
    ["parley_turns_total", "finish", ({ labels }) => labels.finish === "quota_exceeded" || labels.finish === "blocked"],
    ["parley_turns_total", "code", ({ labels }) => labels.code === "busy"],
  ];
  const minutes = since === undefined ? 0 : (latest.atMs - since.atMs) / 60_000;
  const byReason = new Map<string, { perMinute: number; total: number }>();
  for (const [name, label, keep] of counters) {
    const increases = computeIncreases(since, latest, name);
    findPoints(latest, name).forEach((point, index) => {
      if (!keep(point)) return;
      const { labels, value } = point;
      const reason = labels[label] ?? "";
      const { perMinute = 0, total: sum = 0 } = byReason.get(reason) ?? {};
      const more = minutes === 0 ? 0 : (increases[index]?.value ?? 0) / minutes;
      byReason.set(reason, { perMinute: perMinute + more, total: sum + value });
    });
  }
  return [...byReason]
    .filter(([, { total: sum }]) => sum > 0)
    .map(([reason, { perMinute, total: sum }]) => ({ reason, per_minute: round(perMinute, 1), total: sum }))
    .toSorted((a, b) => b.per_minute - a.per_minute || b.total - a.total);
}

/** The breaker states by their value in parley_llm_breaker_state, from best to worst. */
const BREAKER_STATES = ["closed", "half_open", "open"] as const;

/** Returns each provider's circuit breaker, in the worst state of any replica. */
function findBreakers(sample: Sample): Activity["breakers"] {
  const worst = new Map<string, number>();
  for (const { labels, value } of findPoints(sample, "parley_llm_breaker_state")) {
    const provider = labels.provider ?? "";
    worst.set(provider, Math.max(worst.get(provider) ?? 0, value));
  }
  return [...worst].map(([provider, value]) => ({ provider, state: BREAKER_STATES[value] ?? "closed" }));
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
