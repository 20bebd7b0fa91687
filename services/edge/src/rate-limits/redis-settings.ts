import {
  type Environment,
  hasDecodableUrlCredentials,
  parseSecretText,
  type SecretSource,
  UNDECODABLE_URL_CREDENTIALS,
} from "@parley/service-kit";

type Topology = {
  /** With `sentinel`, the URLs name the sentinels; with `cluster`, some nodes of a Redis Cluster. */
  mode: "standalone" | "sentinel" | "cluster";
  /** The name under which the sentinels monitor the Redis servers. */
  sentinelMaster?: string | undefined;
};

export type RedisSettings = Topology & {
  /**
   * One URL, or several of the same scheme. The user, password and database number in the first URL are for the Redis servers, even if the URL
   * names a sentinel.
   */
  urls: readonly string[];
  /** The sentinels' own password, if they have one. */
  sentinelPassword?: string | undefined;
};

/** RedisSettings whose URLs and sentinel password may change while the edge runs. */
export type RedisConfig = Topology & {
  urls: SecretSource<string[]>;
  sentinelPassword: SecretSource<string> | undefined;
};

/** Reads REDIS_URL, REDIS_MODE, REDIS_SENTINEL_MASTER and REDIS_SENTINEL_PASSWORD. Returns undefined without REDIS_URL. */
export function readRedis(environment: Environment): RedisConfig | undefined {
  const mode = environment.oneOf("REDIS_MODE", ["standalone", "sentinel", "cluster"], "standalone");
  const urls = environment.optionalSecret("REDIS_URL", (text) => parseUrls(text, mode));
  if (urls === undefined) return undefined;
  const sentinelMaster = environment.optionalText("REDIS_SENTINEL_MASTER");
  if (mode === "sentinel" && sentinelMaster === undefined)
    environment.addProblem("REDIS_SENTINEL_MASTER is not set: the name under which the sentinels monitor Redis");
  const sentinelPassword = environment.optionalSecret("REDIS_SENTINEL_PASSWORD", parseSecretText);
  return { mode, urls, sentinelMaster, sentinelPassword };
}

function parseUrls(text: string, mode: Topology["mode"]): string[] {
  // A password may contain a comma, so a comma separates URLs only before a scheme.
  const urls = parseSecretText(text).split(/[\s,]+(?=rediss?:\/\/)/);
  const schemes = new Set(urls.map((url) => (URL.canParse(url) ? new URL(url).protocol : "")));
  if (schemes.size > 1 || !["redis:", "rediss:"].includes([...schemes][0] ?? ""))
    throw new Error("must be a URL (redis, rediss), or several of the same scheme, separated by commas");
  if (mode === "standalone" && urls.length > 1)
    throw new Error("must be one URL, unless REDIS_MODE is sentinel or cluster");
  if (!urls.every(hasDecodableUrlCredentials)) throw new Error(UNDECODABLE_URL_CREDENTIALS);
  return urls;
}
