// Not exported here: `guardedFetch` (egress/index.ts), because undici loads slowly, and the functions that run migrations (database/migrations.ts),
// because migration processes must not load gRPC.

export { isEmail, isLongerThan, isSlug, isUtcTime, isUuid, isWorkspaceId, NIL_UUID } from "@parley/rpc/formats";
export { type AuditLog, openAuditLog } from "./audit-log/audit-log.admin.ts";
export { describeCall } from "./audit-log/describe-call.ts";
export {
  type AccessTokenOptions,
  type Caller,
  createTokenVerifier,
  findClaim,
  findRole,
  type TokenVerifier,
} from "./auth/access-token.ts";
export { type AdminCaller, adminAccessOf, adminCallerOf } from "./auth/admin-access.ts";
export { createJwks, loadKeySet } from "./auth/jwks.ts";
export { readJwtSettings, readOptionalJwtSettings } from "./auth/settings.ts";
export { CallPool } from "./database/call-pool.ts";
export {
  type Connection,
  type Database,
  type DatabaseOptions,
  openDatabase,
  type Queryable,
  readPreparedStatements,
  readWithRetry,
  rollBack,
  sqlState,
  transaction,
  withQueryTimeout,
} from "./database/database.ts";
export type { Knex } from "./database/migrate.ts";
export type { Migration } from "./database/migrate-options.ts";
export { createPoolMetrics, type ObservePool } from "./database/pool-metrics.ts";
export { createReadinessProbe } from "./database/readiness.ts";
export { logMissingRoleTimeouts } from "./database/service-role.ts";
export { runForWorkspace } from "./database/shard-limit.ts";
export { listFromShards, onEachShard, readFromAnyShard, shardOfCall } from "./database/shard-lists.ts";
export {
  findOnShards,
  openRoutedPool,
  openShards,
  readShardCount,
  rememberShard,
  requireShard,
  SHARD_NUMBER,
  type Shard,
  type ShardedDatabase,
  shardOfWorkspace,
  singleShard,
} from "./database/shards.ts";
export { defineStatement } from "./database/statement.ts";
export { avoidSort, onShardOfWorkspace, setLocal, workspaceTransaction } from "./database/workspace-transaction.ts";
export { decodeText, UnknownCharsetError } from "./decode-text.ts";
export { EgressError, type EgressErrorCode } from "./egress/error.ts";
export { type Egress, EgressPolicy } from "./egress/policy.ts";
export { type ErrorKind, invalidArgument, listErrorAndCauses, notFound, ServiceError } from "./errors.ts";
export { failpoint } from "./failpoint.ts";
export { toRpcError } from "./grpc/call-errors.ts";
export { EXPORT_TIMEOUT_MS, GENERATE_TIMEOUT_MS, MAX_GENERATION_MS } from "./grpc/call-limits.ts";
export { type CallGuard, createCallGuard, createGrpcServer, type GrpcServer } from "./grpc/grpc-server.ts";
export { channelCredentials } from "./grpc/grpc-tls.ts";
export { connectPeer, type PeerOptions, readRpcMultiplex } from "./grpc/rpc-peers.ts";
export { FairQueue } from "./limiters/fair-queue.ts";
export { type DeclaredBody, MAX_UPLOAD_WAIT_MS, MemberCallLimiter } from "./limiters/member-call-limiter.ts";
export { WorkspaceTimeLimiter, type WorkspaceTimeLimiterOptions } from "./limiters/workspace-time-limiter.ts";
export { parseDay, readUsageRetention } from "./month.ts";
export { UPLOAD_OPTIONS } from "./ops/admin-bodies.ts";
export { watchCertificates } from "./ops/certificate-watch.ts";
export { registerMeasuredGauges, registerShardGauges, shardLabelNames, shardLabels } from "./ops/measured-gauges.ts";
export { createCachedMeasurement } from "./ops/measurement.ts";
export {
  Counter,
  createAuditLogCounter,
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
  startAtZero,
} from "./ops/metrics.ts";
export { startOpsServer } from "./ops/ops-server.ts";
export { createPageTokens, cutPage, type TurnPosition, turnPageTokens } from "./pages.ts";
export { assertCertificatesAreUsable } from "./preflight/certificates.ts";
export { describeFileError } from "./preflight/collect.ts";
export { describeNetworkError } from "./preflight/network-error.ts";
export { type PreflightCheck, runPreflight } from "./preflight/run-preflight.ts";
export { Lifecycle } from "./process/lifecycle.ts";
export { createLogger, LOG_LEVELS, type Logger, type LogLevel } from "./process/logger.ts";
export { type PeriodicTask, pause, runPeriodically } from "./process/periodic.ts";
export { backoffMs, withJitter, withRetry } from "./process/retry.ts";
export { runService } from "./process/run.ts";
export { runOnShards } from "./process/run-on-shards.ts";
export {
  ConfigError,
  Environment,
  hasDecodableUrlCredentials,
  UNDECODABLE_URL_CREDENTIALS,
} from "./settings/environment.ts";
export {
  openSecret,
  parseSecretText,
  type Reload,
  readSecret,
  type Secret,
  type SecretOptions,
  type SecretSource,
} from "./settings/secrets.ts";
export { fixedTokens, openInternalTokens, openTokens, parseTokens, type Tokens } from "./settings/tokens.ts";
export { readTracing, type TracingSettings } from "./tracing/settings.ts";
export { currentTracer, exemplarLabels, openSpan, type Span, withSpan } from "./tracing/tracer.ts";
