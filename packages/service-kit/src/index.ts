export { ActiveMap } from "@parley/rpc-multiplex";
export {
  type Connection,
  type Database,
  type DatabaseOptions,
  openDatabase,
  type Queryable,
  rollBack,
  slowQuery,
  sqlState,
  transaction,
} from "./database.ts";
export { type GuardedAgentOptions, guardedAgent, type Resolve } from "./egress/agent.ts";
export { EgressError, type EgressErrorCode } from "./egress/error.ts";
export {
  type GuardedFetchOptions,
  type GuardedResponse,
  guardedFetch,
  type ResponseHead,
} from "./egress/guarded-fetch.ts";
export { EgressPolicy } from "./egress/policy.ts";
export { ConfigError, Environment } from "./environment.ts";
export { type ErrorKind, invalid, notFound, ServiceError } from "./errors.ts";
export { failpoint } from "./failpoint.ts";
export { type CallGuard, createGrpcServer, type GrpcServer, guardCalls, toRpcError } from "./grpc-server.ts";
export { isUuid, isWorkspaceId } from "./ids.ts";
export { Lifecycle } from "./lifecycle.ts";
export { createLogger, LOG_LEVELS, type Logger, type LogLevel } from "./logger.ts";
export { registerMeasuredGauges } from "./measured-gauges.ts";
export { createMeasurement } from "./measurement.ts";
export {
  Counter,
  createRegistry,
  DURATION_BUCKETS,
  Gauge,
  Histogram,
  Registry,
  rpcClientFailures,
  rpcServerHistogram,
} from "./metrics.ts";
export {
  type Knex,
  type MigrateOptions,
  type MigrateResult,
  type Migration,
  migrate,
  rollback,
} from "./migrate.ts";
export { parseMonth } from "./month.ts";
export { startOpsServer } from "./ops-server.ts";
export { type PeriodicTask, pause, runPeriodically } from "./periodic.ts";
export { createPoolMetrics, type PoolWatch } from "./pool-metrics.ts";
export { createReadinessProbe } from "./readiness.ts";
export { connectPeer, type PeerOptions, readRpcMultiplex } from "./rpc-peers.ts";
export { run } from "./run.ts";
export { type MigrateTarget, runMigrations } from "./run-migrations.ts";
export { checkTimeouts } from "./service-role.ts";
export { readTracing, type TracingSettings } from "./tracing/settings.ts";
export { openSpan, type Span, tracer, withSpan } from "./tracing/tracer.ts";
export { withoutLockTimeout } from "./without-lock-timeout.ts";
