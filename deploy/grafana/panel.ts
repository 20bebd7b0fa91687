/** Grafana's name of a unit. */
export type Unit = "short" | "s" | "bytes" | "percentunit" | "reqps" | "suffix:/s";

export type Query = {
  /** PromQL. `$namespace` is a variable of the dashboard, `$__rate_interval` is built into Grafana. */
  expr: string;
  /** The name of a series, with `{{label}}` for a label's value. */
  legend: string;
};

export type Threshold = { value: number; color: "green" | "orange" | "red" };

export type Panel = {
  title: string;
  /** The meaning of the values. */
  shows: string;
  /** The values of a healthy installation. */
  normal: string;
  /** Which values require action, and what to do. `_Title_` names another panel, and a word that starts with `Parley` names an alert. */
  action: string;
  unit: Unit;
  queries: readonly Query[];
  /** Shows the latest value as a large number instead of a line over time. */
  stat?: true;
  /** Stacks the series, because their sum has a meaning. */
  stacked?: true;
  /** The top of the value axis. */
  max?: number;
  /** The color of a threshold applies from its `value` up to the next threshold. Values below the first threshold are green. */
  thresholds?: readonly Threshold[];
};

export type Dashboard = {
  uid: string;
  title: string;
  description: string;
  rows: readonly { title: string; panels: readonly Panel[] }[];
};

export function inNamespace(metric: string, ...matchers: readonly string[]): string {
  return `${metric}{${['namespace=~"$namespace"', ...matchers].join(", ")}}`;
}

export function rate(metric: string, ...matchers: readonly string[]): string {
  return `rate(${inNamespace(metric, ...matchers)}[$__rate_interval])`;
}

/** Returns PromQL for a histogram's quantile, grouped by the labels `by`. */
export function quantile(q: number, histogram: string, by: readonly string[] = [], ...matchers: string[]): string {
  return `histogram_quantile(${q}, sum by (${["le", ...by].join(", ")}) (${rate(`${histogram}_bucket`, ...matchers)}))`;
}

/** Adds the label `rpc` to the series of `expr`. Its value is the label `method` without the package, such as QuotaService/Reserve. */
export function withRpcLabel(expr: string): string {
  return `label_replace(${expr}, "rpc", "$1", "method", ".*[.](.*)")`;
}
