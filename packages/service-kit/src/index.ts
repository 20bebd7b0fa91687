// Does not export migrations and guarded requests: they load knex and undici, which take a third of the time in which a service loads.
export { UPLOAD_OPTIONS } from "./admin-bodies.ts";
export {
  type AccessTokenOptions,
  type Caller,
  createTokenVerifier,
  findRole,
  type TokenVerifier,
} from "./auth/access-token.ts";
export { type AdminCaller, accessOf, adminCallerOf } from "./auth/admin-access.ts";
export { createJwks } from "./auth/jwks.ts";
export { readJwt, readOptionalJwt } from "./auth/settings.ts";
export { EXPORT_TIMEOUT_MS, GENERATE_TIMEOUT_MS, MAX_GENERATION_MS } from "./call-limits.ts";
export { CallPool } from "./call-pool.ts";
export { watchCertificates } from "./certificate-watch.ts";
export { type ChangeLog, openChangeLog } from "./changes/changes.admin.ts";
export { insertChange } from "./changes/changes.store.ts";
export { describeChange } from "./changes/describe-change.ts";
export {
  type Connection,
  type Database,
  type DatabaseOptions,
  openDatabase,
  type Queryable,
  readPreparedStatements,
  readWithRetry,
  rollBack,
  slowQuery,
  sqlState,
  transaction,
} from "./database.ts";
export { EgressError, type EgressErrorCode } from "./egress/error.ts";
export { type Egress, EgressPolicy } from "./egress/policy.ts";
export { ConfigError, Environment } from "./environment.ts";
export { type ErrorKind, invalidArgument, listCauses, notFound, ServiceError } from "./errors.ts";
export { failpoint } from "./failpoint.ts";
export { type CallGuard, createCallGuard, createGrpcServer, type GrpcServer, toRpcError } from "./grpc-server.ts";
export { channelCredentials } from "./grpc-tls.ts";
export { isUuid, isWorkspaceId } from "./ids.ts";
export { Lifecycle } from "./lifecycle.ts";
export { createLogger, LOG_LEVELS, type Logger, type LogLevel } from "./logger.ts";
export { registerMeasuredGauges } from "./measured-gauges.ts";
export { createCachedMeasurement } from "./measurement.ts";
export { type DeclaredBody, MemberCallLimiter } from "./member-call-limiter.ts";
export {
  Counter,
  createRegistry,
  createReloadRefusalCounter,
  createRpcClientFailureCounter,
  createRpcServerHistogram,
  createServiceMetrics,
  DURATION_BUCKETS,
  Gauge,
  Histogram,
  Registry,
  type ServiceMetrics,
} from "./metrics.ts";
export type { Knex, Migration } from "./migrate.ts";
export { parseMonth, readUsageRetention } from "./month.ts";
export { startOpsServer } from "./ops-server.ts";
export { formatPosition, isUtcTime, type PagePosition, parsePosition } from "./page-position.ts";
export { type PeriodicTask, pause, runPeriodically } from "./periodic.ts";
export { createPoolMetrics, type ObservePool } from "./pool-metrics.ts";
export { createReadinessProbe } from "./readiness.ts";
export { connectPeer, type PeerOptions, readRpcMultiplex } from "./rpc-peers.ts";
export { runService } from "./run.ts";
export {
  openSecret,
  parseSecretText,
  readSecret,
  type Secret,
  type SecretOptions,
  type SecretSource,
} from "./secrets.ts";
export { logMissingTimeouts } from "./service-role.ts";
export { fixedTokens, openTokens, parseTokens, type Tokens } from "./tokens.ts";
export { readTracing, type TracingSettings } from "./tracing/settings.ts";
export { currentTracer, exemplarLabels, openSpan, type Span, withSpan } from "./tracing/tracer.ts";
export { WorkspaceConcurrencyLimiter } from "./workspace-concurrency-limiter.ts";
export { WorkspaceTimeLimiter, type WorkspaceTimeLimiterOptions } from "./workspace-time-limiter.ts";
