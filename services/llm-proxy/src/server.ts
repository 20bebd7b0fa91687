import { randomUUID } from "node:crypto";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import { AuditLogAdminService, CallLogAdminService, LlmService, ProviderAdminService } from "@parley/rpc/llm";
import {
  createAuditLogCounter,
  createCallGuard,
  createGrpcServer,
  createPoolMetrics,
  createRpcServerHistogram,
  type Lifecycle,
  type Logger,
  logMissingRoleTimeouts,
  openAuditLog,
  openInternalTokens,
  openShards,
  openTokens,
  runOnShards,
  type ServiceMetrics,
  type Shard,
  startOpsServer,
  watchCertificates,
} from "@parley/service-kit";
import { CallLog } from "./call-log/call-log.worker.ts";
import { createCallLogAdmin } from "./call-log/calls.admin.ts";
import { registerCostGauge } from "./call-log/cost.metrics.ts";
import { handleFillCallLog } from "./call-log/fill-call-log.rpc.ts";
import { deleteOldCalls } from "./call-log/retention.worker.ts";
import { handleListTurnCosts } from "./call-log/turn-costs.rpc.ts";
import type { Config } from "./config.ts";
import { handleEmbed } from "./embedding/embed.rpc.ts";
import { Embedder } from "./embedding/embedder.ts";
import { ActiveGenerations } from "./generation/active-generations.ts";
import { FlushClock } from "./generation/flush-clock.ts";
import { type GenerateDeps, handleGenerate } from "./generation/generate.rpc.ts";
import { GenerationRunner } from "./generation/generation-runner.ts";
import type { CountTokens } from "./generation/meter.ts";
import { createMetrics } from "./metrics.ts";
import { ProviderCatalog } from "./providers/catalog.service.ts";
import { handleCheckModelSettings } from "./providers/check-model-settings.rpc.ts";
import { createProviderAdmin } from "./providers/providers.admin.ts";
import { openSecrets } from "./settings/secrets.worker.ts";
import { loadSettings, watchSettings } from "./settings/settings.worker.ts";
import { Tokenizer } from "./tokens/tokenizer.client.ts";
import { handleDescribeTools } from "./tools/describe-tools.rpc.ts";
import { ToolboxFactory } from "./tools/tools.service.ts";

const DELETE_CALLS_INTERVAL_MS = 60 * 60_000;

/** Starts the service: the data plane on the gRPC port and the admin services on the ops port. */
export async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  { registry, reloadRefusals }: ServiceMetrics,
): Promise<void> {
  const now = () => performance.now();
  const sharded = openShards(
    {
      url: config.databaseUrl,
      applicationName: "parley-llm-proxy",
      maxConnections: config.databasePool,
      usesPreparedStatements: config.usesPreparedStatements,
      shardCount: config.shardCount,
      keyedTable: "llm.calls",
      closingSignal: lifecycle.closingSignal,
    },
    log,
    lifecycle,
  );
  const { database, shards } = sharded;
  const observePool = createPoolMetrics(registry);
  observePool("main", database);
  for (const shard of shards) {
    if (shard.database !== database) observePool(`shard_${shard.number}`, shard.database);
    void logMissingRoleTimeouts(shard.database, log);
  }

  const auditLog = openAuditLog(sharded, "llm", createAuditLogCounter(registry), log, lifecycle);
  const reloadOptions = { reloadRefusals, onReload: auditLog.recordReload };
  watchCertificates(
    { grpcTlsDir: config.grpcTlsDir, opsTlsDir: config.opsTlsDir, registry, ...reloadOptions },
    log,
    lifecycle,
  );
  const secretOptions = { log, lifecycle, ...reloadOptions };
  const secrets = openSecrets(config.findSecretSource, secretOptions);
  const settingsOptions = { ...config, readSecret: secrets.read };
  const catalog = new ProviderCatalog(loadSettings(settingsOptions), now, config.providerProxy);
  lifecycle.onClose("providers", () => catalog.close());

  const metrics = createMetrics(registry, () => catalog.providers);
  registerCostGauge(registry, shards, log);
  watchSettings(
    settingsOptions,
    catalog,
    { reloads: metrics.configReloads, ...reloadOptions },
    { secrets, log, lifecycle },
  );
  const callLog = new CallLog(sharded, metrics, log, lifecycle);
  const activeGenerations = new ActiveGenerations((count) => metrics.active.set(count));
  const settings = () => catalog.settings;
  const tools = new ToolboxFactory({ egress: config.egress, settings, metrics, log, now }, lifecycle);
  const tokenizer = new Tokenizer(lifecycle);
  const countTokens: CountTokens = (model, texts) => tokenizer.count(model, texts);
  const patternThreads = new PatternThreadPool({ registry, log, lifecycle });
  const generationRunner = new GenerationRunner({
    catalog,
    activeGenerations,
    tools,
    patternThreads,
    countTokens,
    metrics,
    log,
    now,
    random: Math.random,
  });
  const embedder = new Embedder({ catalog, metrics, log, now, random: Math.random });

  let isServing = false;
  await startOpsServer(
    {
      host: config.host,
      port: config.opsPort,
      tlsDir: config.opsTlsDir,
      registry,
      // Generations do not need the database, so the service is ready without it.
      isReady: () => isServing,
      admin: {
        tokens: openTokens(config.adminTokens, secretOptions),
        jwt: config.jwt,
        register: (router) => {
          router.service(ProviderAdminService, createProviderAdmin({ catalog, generationRunner }));
          router.service(CallLogAdminService, createCallLogAdmin(sharded, Date.now));
          router.service(AuditLogAdminService, auditLog);
        },
      },
    },
    log,
    lifecycle,
  );

  // Starts the deletion before the gRPC server. The lifecycle closes in reverse order: it first drains the gRPC calls, then waits for the deletion.
  const { callLogRetentionDays: days } = config;
  if (days > 0) {
    const deletion = {
      name: "delete expired call log rows",
      intervalMs: DELETE_CALLS_INTERVAL_MS,
      run: (shard: Shard, signal: AbortSignal) => deleteOldCalls({ database: shard.database, days, log }, signal),
    };
    runOnShards(shards, deletion, log, lifecycle);
  }

  const grpc = createGrpcServer(
    { host: config.host, port: config.grpcPort, drainMs: config.drainMs, tlsDir: config.grpcTlsDir },
    lifecycle,
  );
  const deps: GenerateDeps = {
    generationRunner,
    callLog,
    flushClock: new FlushClock(),
    wallClock: Date.now,
    createId: randomUUID,
  };
  grpc.serve(
    LlmService,
    {
      generate: (request, context) => handleGenerate(deps, request, context),
      embed: (request, context) => handleEmbed(embedder, request, context),
      describeTools: (request, context) => handleDescribeTools(tools, request, context),
      checkModelSettings: (request) => handleCheckModelSettings(catalog, request),
      listTurnCosts: (request) => handleListTurnCosts(database, request),
      fillCallLog: (request) => handleFillCallLog({ shards, settings, metrics, retentionDays: days }, request),
    },
    createCallGuard(openInternalTokens(config.internalTokens, secretOptions), createRpcServerHistogram(registry), log),
  );
  await grpc.listen();
  isServing = true;
  // Registered last, so this closer runs before the gRPC server closes. The server then waits up to drainMs for running calls. Shortly before
  // drainMs has passed, the timer fails the remaining generations, so that their callers receive an end message.
  lifecycle.onClose("active generations", () => {
    isServing = false;
    setTimeout(() => activeGenerations.failAll(), config.drainMs - Math.min(1_000, config.drainMs / 4)).unref();
  });
}
