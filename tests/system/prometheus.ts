import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, prometheusCommands, startProcess } from "@parley/test-support";

export type Target = { service: string; opsPort: number };

/** One series of an answer: its labels and its value now. */
export type Sample = { labels: Record<string, string>; value: number };

export type FiringAlert = { name: string; labels: Record<string, string> };

export type Prometheus = {
  url: string;
  /** What an expression gives now; NaN is no value. */
  query(expr: string): Promise<Sample[]>;
  firing(): Promise<FiringAlert[]>;
  stop(): Promise<void>;
};

export type PrometheusOptions = {
  targets: readonly Target[];
  /** Rule files by name. */
  rules?: Readonly<Record<string, string>>;
};

/** Debian's Prometheus, which scrapes the services every second, under the labels that the chart and compose give them. */
export async function startPrometheus({ targets, rules = {} }: PrometheusOptions): Promise<Prometheus> {
  const commands = prometheusCommands();
  if (commands === undefined) throw new Error('no prometheus; put the suite into describeWith("prometheus")');
  const directory = await mkdtemp(join(tmpdir(), "parley-prometheus-"));
  const port = await freePort();
  for (const [name, text] of Object.entries(rules)) await writeFile(join(directory, name), text);
  // JSON is YAML.
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
    ],
  };
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
    ],
    ready: async () => {
      try {
        return (await fetch(`${url}/-/ready`)).ok;
      } catch {
        return false;
      }
    },
  });
  await server.waitReady();

  async function get<T>(path: string, parameters: Record<string, string> = {}): Promise<T> {
    const response = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const answer = (await response.json()) as { status: string; error?: string; data: T };
    if (answer.status !== "success") throw new Error(`${path} ${parameters.query}: ${answer.error}`);
    return answer.data;
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
    async firing() {
      type Alerts = { alerts: { state: string; labels: Record<string, string> }[] };
      const { alerts } = await get<Alerts>("alerts");
      return alerts
        .filter(({ state }) => state === "firing")
        .map(({ labels }) => ({ name: labels.alertname ?? "", labels }));
    },
    async stop() {
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}
