import {
  Counter,
  createAuditLogCounter,
  createLogger,
  createPoolMetrics,
  createReloadRefusalCounter,
  createRpcClientFailureCounter,
  createRpcServerHistogram,
  type Database,
  Gauge,
  Histogram,
  Registry,
  watchCertificates,
} from "@parley/service-kit";
import { createPatternJobHistogram } from "../../packages/bot-rules/src/moderation/metrics.ts";
import { createMetrics as consoleMetrics } from "../../services/console/src/metrics.ts";
import { createEmailCounter, registerEmailGauge } from "../../services/conversation/src/emails/index.ts";
import { createHandoffMetrics, registerHandoffGauges } from "../../services/conversation/src/handoff/index.ts";
import {
  createClosedTurnCounter,
  createLeaseFailureCounter,
  createPrunedRowCounter,
  createRetentionFailureCounter,
  createSemanticSearchCounter,
  createSettleLags,
  createTaskFailureCounter,
  registerEmbeddingGauge,
  registerOutboxGauges,
} from "../../services/conversation/src/metrics.ts";
import {
  createRepairCounter,
  registerReconciliationGauges,
} from "../../services/conversation/src/reconciliation/index.ts";
import { createSiteRunCounter, registerSiteGauges } from "../../services/conversation/src/sites/index.ts";
import { registerUsageAuditGauge } from "../../services/conversation/src/usage-audit/usage-audit.worker.ts";
import { createDeliveryCounter, registerWebhookGauges } from "../../services/conversation/src/webhooks/index.ts";
import { createMetrics as edgeMetrics } from "../../services/edge/src/metrics.ts";
import { registerCostGauge } from "../../services/llm-proxy/src/call-log/cost.metrics.ts";
import { createMetrics as llmMetrics } from "../../services/llm-proxy/src/metrics.ts";
import { registerHoldGauges } from "../../services/quota/src/metrics.ts";
import {
  createPrunedRowCounter as createQuotaPrunedRowCounter,
  registerMonthGauge,
} from "../../services/quota/src/months/months.metrics.ts";
import {
  createMisroutedCounter,
  createReservationCounter,
  registerUsageGauges,
} from "../../services/quota/src/usage/usage.metrics.ts";
import { markdownTable } from "../markdown-table.ts";

const log = createLogger("metrics", "silent");
/** Placeholder for the objects that gauges read when they are collected. Nothing collects the metrics here. */
const unused = {} as never;
const database = unused as Database;
/** Two, because the label `shard` exists only with several shards. */
const shards = [0, 1].map((number) => ({ number, database }));

function registerReloadMetrics(registry: Registry): void {
  watchCertificates({ registry, reloadRefusals: createReloadRefusalCounter(registry) }, log, unused);
}

/** Must match what each service registers when it starts: tests/observability compares docs/metrics.md with the running services. */
const REGISTRATIONS: Readonly<Record<string, (registry: Registry) => void>> = {
  edge: (registry) => {
    edgeMetrics(registry, { jwksAgeSeconds: () => 0 });
    createRpcServerHistogram(registry);
    registerReloadMetrics(registry);
  },
  conversation: (registry) => {
    createClosedTurnCounter(registry);
    createAuditLogCounter(registry);
    createSettleLags(registry, shards);
    registerOutboxGauges(registry, shards, log);
    registerWebhookGauges(registry, shards, log);
    createDeliveryCounter(registry);
    registerEmailGauge(registry, shards, log);
    registerHandoffGauges(registry, shards, log);
    createEmailCounter(registry);
    registerSiteGauges(registry, shards, log);
    createSiteRunCounter(registry);
    createHandoffMetrics(registry);
    registerEmbeddingGauge(registry, shards, unused, log);
    createRetentionFailureCounter(registry);
    createSemanticSearchCounter(registry);
    registerUsageAuditGauge(registry, shards, log);
    registerReconciliationGauges(registry, shards, log);
    createRepairCounter(registry, shards);
    createTaskFailureCounter(registry, shards);
    createLeaseFailureCounter(registry, shards);
    createPrunedRowCounter(registry);
    createPatternJobHistogram(registry);
    createRpcServerHistogram(registry);
    createRpcClientFailureCounter(registry);
    createPoolMetrics(registry);
    registerReloadMetrics(registry);
  },
  quota: (registry) => {
    registerHoldGauges(registry, shards, log);
    createAuditLogCounter(registry);
    registerMonthGauge(registry, shards, log);
    createQuotaPrunedRowCounter(registry);
    registerUsageGauges(registry, shards, log);
    createReservationCounter(registry);
    createMisroutedCounter(registry);
    createRpcServerHistogram(registry);
    createPoolMetrics(registry);
    registerReloadMetrics(registry);
  },
  "llm-proxy": (registry) => {
    llmMetrics(registry, () => []);
    createAuditLogCounter(registry);
    registerCostGauge(registry, shards, log);
    createPatternJobHistogram(registry);
    createRpcServerHistogram(registry);
    createPoolMetrics(registry);
    registerReloadMetrics(registry);
  },
  console: (registry) => {
    consoleMetrics(registry);
    registerReloadMetrics(registry);
  },
};

type DocumentedMetric = {
  name: string;
  type: string;
  help: string;
  labels: readonly string[];
  buckets: readonly number[];
  services: string[];
};

/** Returns Parley's metrics, sorted by name, with the services that export them. Throws if two services define a metric differently. */
export function documentedMetrics(): DocumentedMetric[] {
  const byName = new Map<string, DocumentedMetric>();
  for (const [service, register] of Object.entries(REGISTRATIONS)) {
    const registry = new Registry();
    register(registry);
    for (const metric of registry.getMetricsAsArray()) {
      const { name, help } = metric;
      const { labelNames: labels = [], upperBounds: buckets = [] } = metric as {
        labelNames?: string[];
        upperBounds?: number[];
      };
      const earlier = byName.get(name);
      const definition = { name, type: typeOf(metric), help, labels, buckets };
      if (earlier === undefined) byName.set(name, { ...definition, services: [service] });
      else {
        const { services, ...earlierDefinition } = earlier;
        if (JSON.stringify(earlierDefinition) !== JSON.stringify(definition))
          throw new Error(`metric ${name} differs between services`);
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
  throw new Error("unknown metric type");
}

export function metricsDocument(): string {
  const metrics = documentedMetrics();
  const rows = metrics.map(({ name, type, labels, services, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", ") || "–",
    services.join(", "),
    help,
  ]);
  const byBuckets = Map.groupBy(
    metrics.filter((metric) => metric.buckets.length > 0),
    (metric) => metric.buckets.join(", "),
  );
  const bucketLines = [...byBuckets].map(
    ([bounds, histograms]) => `- ${histograms.map(({ name }) => `\`${name}\``).join(", ")}: ${bounds}`,
  );
  return `<!-- Generated by \`pnpm generate:observability\` from the services' metric definitions. Do not edit. -->

# Metrics

Scrape \`/metrics\` on a service's ops port, which also serves health checks and, except for edge and console, the admin services. The format is Prometheus' text format, or OpenMetrics with exemplars if
tracing is on and Prometheus accepts OpenMetrics. The names that start with \`gen_ai_\` are those of [OpenTelemetry](https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-metrics/). A model that
the configuration does not name has the label value \`_OTHER\`. Each series has the label \`service\`. Each service also exports
\`process_*\` (CPU, memory, file descriptors) and \`nodejs_*\` (event-loop delay, heap, garbage collection).

Some terms in the table: a turn is a visitor's message and its reply. A hold reserves one message of the workspace's quota for a running turn. The conversation
service puts each closed turn into its outbox, and the quota service then settles the turn: it counts the message or releases the hold. The quota
service stores a reservation for each turn. A reservation is void if its turn has ended and is not counted.

A metric has the same labels and buckets in every service. Label values are fixed words and names from the configuration (routes, codes,
providers, plans), so their number is bounded. No label contains a session, a visitor, a message or an address. The label \`shard\`, the
number of a [logical shard](install/scaling.md), exists only if there are several. Four metrics have the label
\`workspace\`, each for a bounded list. \`parley_quota_workspace_used_ratio\` and \`parley_quota_workspace_unpaid_ratio\` have a series for each workspace at 80 % of its
bound or more, and at most 200. \`parley_quota_workspace_used_messages\` and \`parley_llm_workspace_day_cost\` have series for the ten workspaces with the highest values.

[operations/dashboards.md](operations/dashboards.md) describes the dashboards and alerts that use these metrics.

${markdownTable(["metric", "type", "labels", "services", "description"], rows)}

## Buckets

The upper bounds of the histograms, in seconds or tokens:

${bucketLines.join("\n")}
`;
}
