import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import type { RedisSettings } from "./redis-settings.ts";

/** If a command is pending and no reply arrives for this long, the connection is replaced: a network that drops packets reports no error. */
const SOCKET_TIMEOUT_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_000;
const SENTINEL_PORT = 26_379;
const REDIS_PORT = 6_379;

const options = {
  connectionName: "parley-edge",
  // While disconnected, commands fail immediately: a queued command would delay a visitor, and a resent command could count twice.
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: CONNECT_TIMEOUT_MS,
  socketTimeout: SOCKET_TIMEOUT_MS,
  retryStrategy: retryDelayMs,
  // A master that has become a replica refuses writes. The next connection leads to the new master.
  reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
} satisfies RedisOptions;

type AccessOptions = Pick<RedisOptions, "username" | "password" | "tls">;

/** Connects to a Redis server, to the master that sentinels name, or to a Redis Cluster, and follows failovers. */
export function connectRedis(settings: RedisSettings): Redis | Cluster {
  const [first = ""] = settings.urls;
  if (settings.mode === "standalone") return new Redis(first, options);
  const { protocol, username, password, pathname } = new URL(first);
  const tls = protocol === "rediss:" ? {} : undefined;
  const accessOptions: AccessOptions = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(tls && { tls }),
  };
  if (settings.mode === "cluster") return connectCluster(settings.urls, accessOptions);
  return new Redis({
    ...options,
    ...accessOptions,
    db: Number(pathname.slice(1)),
    sentinels: settings.urls.map((url) => addressOf(url, SENTINEL_PORT)),
    name: settings.sentinelMaster ?? "",
    sentinelRetryStrategy: retryDelayMs,
    // A master that does not reply keeps its connections open, so the sentinels must report the failover.
    failoverDetector: true,
    ...(settings.sentinelPassword && { sentinelPassword: settings.sentinelPassword }),
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  });
}

function connectCluster(urls: readonly string[], accessOptions: AccessOptions): Cluster {
  const { enableOfflineQueue, retryStrategy, ...redisOptions } = options;
  const nodes = urls.map((url) => addressOf(url, REDIS_PORT));
  return new Cluster(nodes, {
    enableOfflineQueue,
    clusterRetryStrategy: retryStrategy,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    redisOptions: { ...redisOptions, ...accessOptions },
    // By default ioredis connects to IP addresses, but the certificates contain host names.
    ...(accessOptions.tls && { dnsLookup: keepHostName }),
  });
}

const keepHostName: NonNullable<ClusterOptions["dnsLookup"]> = (host, callback) => callback(null, host);

function addressOf(url: string, defaultPort: number): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || defaultPort };
}

function retryDelayMs(attempt: number): number {
  return Math.min(100 * attempt, 1_000);
}
