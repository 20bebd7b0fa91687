import {
  Counter,
  createLogger,
  createPoolMetrics,
  type Database,
  Gauge,
  Histogram,
  Registry,
  rpcClientFailures,
  rpcServerHistogram,
} from "@parley/service-kit";
import { matchDurations } from "../../packages/bot-rules/src/moderation/metrics.ts";
import { createAuditTask } from "../../services/conversation/src/audit/audit.worker.ts";
import {
  closedTurns,
  embeddingGauge,
  outboxGauges,
  semanticSearches,
  settleLag,
} from "../../services/conversation/src/metrics.ts";
import { createMetrics as edgeMetrics } from "../../services/edge/src/metrics.ts";
import { createMetrics as llmMetrics } from "../../services/llm-proxy/src/metrics.ts";
import { holdGauges } from "../../services/quota/src/metrics.ts";
import { reservationCounter, usageGauges } from "../../services/quota/src/usage/usage.metrics.ts";

const log = createLogger("metrics", "silent");
/** Nothing is measured here: what a gauge would read from is never asked. */
const unasked = {} as never;
const database = unasked as Database;

/** What each service registers when it starts. That nothing is missing here is seen where the running services are scraped. */
const REGISTRATIONS: Readonly<Record<string, (registry: Registry) => void>> = {
  edge: (registry) => edgeMetrics(registry, { jwksAgeSeconds: () => 0 }),
  conversation: (registry) => {
    closedTurns(registry);
    settleLag(registry);
    outboxGauges(registry, database, log);
    embeddingGauge(registry, unasked, log);
    semanticSearches(registry);
    createAuditTask(database, unasked, registry, log);
    matchDurations(registry);
    rpcServerHistogram(registry);
    rpcClientFailures(registry);
    createPoolMetrics(registry);
  },
  quota: (registry) => {
    holdGauges(registry, database, log);
    usageGauges(registry, database, log);
    reservationCounter(registry);
    rpcServerHistogram(registry);
    createPoolMetrics(registry);
  },
  "llm-proxy": (registry) => {
    llmMetrics(registry, () => []);
    matchDurations(registry);
    rpcServerHistogram(registry);
    createPoolMetrics(registry);
  },
};

type Documented = {
  name: string;
  type: string;
  help: string;
  labels: readonly string[];
  buckets: readonly number[];
  services: string[];
};

/** Every metric of our own, by name, with the services that have it. Throws when two services mean different things by one name. */
export function documentedMetrics(): Documented[] {
  const byName = new Map<string, Documented>();
  for (const [service, register] of Object.entries(REGISTRATIONS)) {
    const registry = new Registry();
    register(registry);
    for (const metric of registry.getMetricsAsArray()) {
      const { name, help } = metric;
      const { labelNames: labels = [], upperBounds: buckets = [] } = metric as {
        labelNames?: string[];
        upperBounds?: number[];
      };
      const known = byName.get(name);
      const described = { name, type: typeOf(metric), help, labels, buckets };
      if (known === undefined) byName.set(name, { ...described, services: [service] });
      else {
        const { services, ...same } = known;
        if (JSON.stringify(same) !== JSON.stringify(described)) throw new Error(`${name} differs between services`);
        services.push(service);
      }
    }
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function typeOf(metric: object): string {
  if (metric instanceof Histogram) return "histogram";
  if (metric instanceof Counter) return "counter";
  if (metric instanceof Gauge) return "gauge";
  throw new Error("a metric of a kind that is not used here");
}

/** docs/metrics.md */
export function metricsDocument(): string {
  const metrics = documentedMetrics();
  const rows = metrics.map(({ name, type, labels, services, help }) => {
    const cells = [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(", ") || "–",
      services.join(", "),
      help,
    ];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  const buckets = Map.groupBy(
    metrics.filter((metric) => metric.buckets.length > 0),
    (metric) => metric.buckets.join(", "),
  );
  const bucketLines = [...buckets].map(
    ([bounds, of]) => `- ${of.map(({ name }) => `\`${name}\``).join(", ")}: ${bounds}`,
  );
  return `<!-- Made from the registrations by \`pnpm generate:observability\`; changed there, not here. -->

# Metrics

Every service serves them at \`/metrics\` of its ops port, in Prometheus' format. Each series carries \`service\`. The process's own come besides:
\`process_*\` (CPU, memory, file descriptors) and \`nodejs_*\` (event-loop delay, heap, garbage collection).

The same thing has the same name, labels and buckets in every service. Labels hold words of ours and names from the configuration (routes, codes,
providers, plans), so that their number stays bounded: never a session, a visitor, a message or an address. A workspace is named by one metric
alone, and only from 80 % of its cap on.

The dashboards and alerts made of them: [operations/dashboards.md](operations/dashboards.md).

| metric | type | labels | services | what it tells |
| ------ | ---- | ------ | -------- | ------------- |
${rows.join("\n")}

## Buckets

Upper bounds of the histograms, in seconds:

${bucketLines.join("\n")}
`;
}
