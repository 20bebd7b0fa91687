import {
  assertCertificatesAreUsable,
  describeFileError,
  describeNetworkError,
  loadKeySet,
  type PreflightCheck,
  readSecret,
  runPreflight,
  type SecretSource,
} from "@parley/service-kit";
import { type Config, readConfig } from "./config.ts";
import { checkRedis } from "./rate-limits/redis-check.client.ts";

/** The chart's value for each variable that an operator may set to something unusable. */
const CHART_VALUES = {
  INTERNAL_TOKEN: "the key INTERNAL_TOKEN of the Secret in existingSecret",
  REDIS_URL: "the key REDIS_URL of the Secret in redis.existingSecret, by default existingSecret",
  REDIS_MODE: "redis.mode",
  REDIS_SENTINEL_MASTER: "redis.sentinelMaster",
  REDIS_SENTINEL_PASSWORD: "the key redis.sentinelPasswordKey of the Secret in redis.existingSecret",
  JWT_ISSUER: "sso.issuer",
  JWT_AUDIENCE: "sso.audience",
  JWKS_URL: "sso.jwksUrl",
  GRPC_TLS_DIR: "mtls; the Secret that ends in -edge-tls",
};
type Variable = keyof typeof CHART_VALUES;

/**
 * The edge becomes ready without Redis, because it then counts rate limits locally, and without the identity provider, because only owners' calls
 * need it. It does not start without its token, with an invalid REDIS_URL or with unusable certificates.
 */
function listChecks(config: Config): PreflightCheck[] {
  const { redis, grpcTlsDir, edgeRpcTlsName, jwt } = config;
  const checks: PreflightCheck[] = [
    { isRequired: true, run: async () => readNamedSecret(config.internalTokens) },
    { isRequired: false, run: () => named("JWKS_URL", jwt.jwksUrl, () => loadKeySet(jwt.jwksUrl)) },
  ];
  if (redis !== undefined) {
    const { urls, sentinelPassword } = redis;
    for (const secret of sentinelPassword ? [urls, sentinelPassword] : [urls])
      checks.push({ isRequired: true, run: async () => readNamedSecret(secret) });
    checks.push({ isRequired: false, run: () => checkRedisOf(redis) });
  }
  if (grpcTlsDir !== undefined)
    checks.push({
      isRequired: true,
      run: () => named("GRPC_TLS_DIR", undefined, async () => assertCertificatesAreUsable(grpcTlsDir, edgeRpcTlsName)),
    });
  return checks;
}

async function checkRedisOf(redis: NonNullable<Config["redis"]>): Promise<void> {
  const { urls, sentinelPassword } = redis;
  let settings: Parameters<typeof checkRedis>[0];
  try {
    settings = {
      ...redis,
      urls: readSecret(urls),
      sentinelPassword: sentinelPassword && readSecret(sentinelPassword),
    };
  } catch {
    // The secret's own check reports this.
    return;
  }
  await named("REDIS_URL", settings.urls[0], () => checkRedis(settings));
}

function readNamedSecret(source: SecretSource<unknown>): void {
  try {
    readSecret(source);
  } catch (error) {
    throw describe(source.name as Variable, undefined, error);
  }
}

async function named(variable: Variable, url: string | undefined, check: () => Promise<unknown>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw describe(variable, url, error);
  }
}

/** Returns an error that names the variable and the chart's value. It contains the URL's host, but neither its credentials nor its path. */
function describe(variable: Variable, url: string | undefined, error: unknown): Error {
  const { host, hostname, protocol } = url === undefined ? { host: "", hostname: "", protocol: "" } : new URL(url);
  const defaultPort = { "http:": 80, "https:": 443, "redis:": 6379, "rediss:": 6379 }[protocol];
  const address = host === hostname && defaultPort !== undefined ? `${hostname}:${defaultPort}` : host;
  const prefix = address === "" ? "" : `${address}: `;
  const reason = describeNetworkError(error, address)?.message ?? `${prefix}${describeFileError(error)}`;
  return new Error(`${variable}: ${reason} (chart: ${CHART_VALUES[variable]})`, {
    cause: error,
  });
}

await runPreflight({ service: "edge", readConfig, listChecks, chartValues: CHART_VALUES });
