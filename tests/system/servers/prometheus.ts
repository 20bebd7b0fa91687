import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, prometheusCommands, startProcess } from "@parley/test-support";
import { returnsOk } from "../processes.ts";

export type Target = { service: string; opsPort: number };

export type Sample = { labels: Record<string, string>; value: number };

export type FiringAlert = { name: string; labels: Record<string, string> };

/** The first and the last time, in ms since 1970, at which an alert was firing. */
export type AlertPeriod = FiringAlert & { firstAt: number; lastAt: number };

export type Prometheus = {
  url: string;
  /** Omits series whose value is NaN. */
  query(expr: string): Promise<Sample[]>;
  listFiringAlerts(): Promise<FiringAlert[]>;
  /** Lists the alerts that were firing at some time since `sinceMs`, in ms since 1970. */
  listAlertPeriods(sinceMs: number): Promise<AlertPeriod[]>;
  /** Returns the labels of each exemplar of the last minute. */
  exemplars(expr: string): Promise<Record<string, string>[]>;
  stop(): Promise<void>;
};

export type PrometheusOptions = {
  /** Services on this machine. They get the labels `application` and `service`, which dashboards and alerts need. */
  targets?: readonly Target[];
  /** Further entries of `scrape_configs`. */
  scrapeConfigs?: readonly object[];
  /** The rule files' contents, by file name. */
  rules?: Readonly<Record<string, string>>;
};

/** Starts a Prometheus that scrapes and evaluates every second. */
export async function startPrometheus({
  targets = [],
  scrapeConfigs = [],
  rules = {},
}: PrometheusOptions): Promise<Prometheus> {
  const commands = prometheusCommands();
  if (commands === undefined) throw new Error('prometheus not found; use describeWith("prometheus")');
  const directory = await mkdtemp(join(tmpdir(), "parley-prometheus-"));
  const port = await freePort();
  for (const [name, text] of Object.entries(rules)) await writeFile(join(directory, name), text);
  const config = {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: Object.keys(rules),
    scrape_configs: [
      {
        job_name: "parley",
        honor_labels: true,
        static_configs: targets.map(({ service, opsPort }) => ({
          targets: [`127.0.0.1:${opsPort}`],
          labels: { application: "parley", service },
        })),
      },
      ...scrapeConfigs,
    ],
  };
  // JSON is valid YAML.
  await writeFile(join(directory, "prometheus.yml"), JSON.stringify(config));
  const url = `http://127.0.0.1:${port}`;
  const server = await startProcess({
    name: "prometheus",
    command: commands.prometheus,
    args: [
      `--config.file=${join(directory, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(directory, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=warn",
      "--enable-feature=exemplar-storage",
      // How often new targets are scraped. The default is 5 s.
      "--scrape.discovery-reload-interval=1s",
    ],
    ready: () => returnsOk(`${url}/-/ready`),
  });
  await server.waitReady();

  async function get<T>(path: string, parameters: Record<string, string> = {}): Promise<T> {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { status, error, data } = (await response.json()) as { status: string; error?: string; data: T };
    if (status !== "success") throw new Error(`${path} ${parameters.query}: ${error}`);
    return data;
  }

  return {
    url,
    async query(query) {
      type Vector = { result: { metric: Record<string, string>; value: [number, string] }[] };
      const { result } = await get<Vector>("query", { query });
      return result
        .map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }))
        .filter(({ value }) => !Number.isNaN(value));
    },
    async listFiringAlerts() {
      type Alerts = { alerts: { state: string; labels: Record<string, string> }[] };
      const { alerts } = await get<Alerts>("alerts");
      return alerts
        .filter(({ state }) => state === "firing")
        .map(({ labels }) => ({ name: labels.alertname ?? "", labels }));
    },
    async listAlertPeriods(sinceMs) {
      type Matrix = {
        result: { metric: Record<string, string> & { alertname: string }; values: [number, string][] }[];
      };
      const range = { start: String(sinceMs / 1_000), end: String(Date.now() / 1_000), step: "1" };
      const { result } = await get<Matrix>("query_range", { query: 'ALERTS{alertstate="firing"}', ...range });
      return result.map(({ metric, values }) => ({
        name: metric.alertname,
        labels: metric,
        firstAt: (values[0]?.[0] ?? 0) * 1_000,
        lastAt: (values.at(-1)?.[0] ?? 0) * 1_000,
      }));
    },
    async exemplars(query) {
      type Series = { exemplars: { labels: Record<string, string> }[] };
      const nowSeconds = Date.now() / 1_000;
      const range = { start: String(nowSeconds - 60), end: String(nowSeconds + 1) };
      const series = await get<Series[]>("query_exemplars", { query, ...range });
      return series.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels));
    },
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}
