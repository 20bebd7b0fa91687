export { type TestClock, testClock } from "./clock.ts";
export { type ConnectProxy, startConnectProxy } from "./connect-proxy.ts";
export { cpuMsOf } from "./cpu-time.ts";
export { type CreateDatabaseOptions, createDatabase, queryRows, type TestDatabase } from "./database.ts";
export { type DebianPostgres, startDebianPostgres } from "./debian-postgres.ts";
export { describeWith } from "./describe-with.ts";
export { scrubbedEnv } from "./environment.ts";
export { embedText, HANDBOOK } from "./fake-provider/embeddings.ts";
export { defaultReplyText, fixedUsage, type Reply, type Usage } from "./fake-provider/reply.ts";
export { type FakeProvider, type ReceivedRequest, type Script, startFakeProvider } from "./fake-provider/server.ts";
export { fillHistory, type History, type HistoryOptions } from "./history.ts";
export { exitOnSignals } from "./leftovers.ts";
export { type McpTestServer, type McpTestTool, startMcpServer } from "./mcp-server.ts";
export { type PgBouncer, type PgBouncerOptions, startPgBouncer } from "./pgbouncer.ts";
export { type PgvectorServer, startPgvectorServer } from "./pgvector/server.ts";
export { arePortsFree, freePort, freePorts } from "./ports.ts";
export { startTestPostgres, type TestPostgres } from "./postgres.ts";
export { nodeFlags, type ProcessExit, type ProcessOptions, type RunningProcess, startProcess } from "./process.ts";
export { isFullRun, quickOrFull } from "./quick-or-full.ts";
export { type RedisOptions, startRedis, type TestRedis } from "./redis.ts";
export { replaceFile } from "./replace-file.ts";
export {
  chromiumCommand,
  findCommand,
  headlessChromiumCommand,
  isRedisAvailable,
  isRequirementMet,
  nginxCommand,
  phpCommand,
  prometheusCommands,
  type Requirement,
  reportMissingRequirements,
  wordpressPath,
} from "./requirements.ts";
export { loadClassifier, TABLES_WITHOUT_KEY, type Verdict } from "./shard-router/classify.ts";
export { shardOf } from "./shard-router/hash.ts";
export type { ShardRouter, ShardRouterOptions } from "./shard-router/options.ts";
export { ROUTER_ADMIN_PASSWORD, readShardUrls } from "./shard-router/pgdog.ts";
export { startShardRouter } from "./shard-router/router.ts";
export { type ReceivedEmail, type SmtpReceiver, type SmtpReceiverOptions, startSmtpReceiver } from "./smtp-receiver.ts";
export { collectSse, fetchAndKeep, type ReadSseOptions, readSse, type SseComment, type SseEvent } from "./sse.ts";
export { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
export { startToolServer, type ToolServer, type ToolServerRequest, type ToolServerResponse } from "./tool-server.ts";
export { type ReceivedWebhook, startWebhookReceiver, type WebhookReceiver } from "./webhook-receiver.ts";
export { redirectTo, sitemap, startWebsite, WEBSITE_NETWORK, type Website, webPage, withEtag } from "./website.ts";
export { fillShop, isTrap, MAX_TRAP_PAGES, SHOP_PAGES } from "./website-shop.ts";
