/** What a value is counted in, by Grafana's own names. */
export type Unit = "short" | "s" | "bytes" | "percentunit" | "reqps" | "suffix:/s";

export type Query = {
  /** PromQL. `$namespace` and `$__rate_interval` are the dashboard's. */
  expr: string;
  /** The name of a series, with `{{label}}` for a label's value. */
  legend: string;
};

export type Threshold = { value: number; color: "green" | "orange" | "red" };

export type Panel = {
  title: string;
  /** What to make of it, for who has never seen it. */
  description: string;
  unit: Unit;
  queries: readonly Query[];
  /** Its latest value in large figures; a line over time otherwise. */
  stat?: true;
  /** Series stand on top of each other: their sum means something. */
  stacked?: true;
  max?: number;
  /** From these values on it is coloured; what is below the first is green. */
  thresholds?: readonly Threshold[];
};

export type Dashboard = {
  uid: string;
  title: string;
  description: string;
  rows: readonly { title: string; panels: readonly Panel[] }[];
};

/** A metric of the namespaces that are looked at. */
export function of(metric: string, ...matchers: readonly string[]): string {
  return `${metric}{${['namespace=~"$namespace"', ...matchers].join(", ")}}`;
}

/** What happens a second. */
export function rate(metric: string, ...matchers: readonly string[]): string {
  return `rate(${of(metric, ...matchers)}[$__rate_interval])`;
}

/** A quantile of a histogram, for each of the labels. */
export function quantile(q: number, histogram: string, by: readonly string[] = [], ...matchers: string[]): string {
  return `histogram_quantile(${q}, sum by (${["le", ...by].join(", ")}) (${rate(`${histogram}_bucket`, ...matchers)}))`;
}

/** A metric of RPCs with their short names as the label `rpc`: QuotaService/Reserve. */
export function byRpc(expr: string): string {
  return `label_replace(${expr}, "rpc", "$1", "method", ".*[.](.*)")`;
}
