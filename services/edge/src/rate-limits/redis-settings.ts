import type { Environment } from "@parley/service-kit";

export type RedisSettings = {
  /** `sentinel`: `urls` lists the sentinels. `cluster`: `urls` lists some nodes of a Redis Cluster. */
  mode: "standalone" | "sentinel" | "cluster";
  /** One URL, or several of the same scheme. The first URL has the user, password and database number for the Redis servers. */
  urls: readonly string[];
  /** The name under which the sentinels monitor the Redis servers. */
  sentinelMaster?: string | undefined;
  /** The sentinels' own password, if they have one. */
  sentinelPassword?: string | undefined;
};

/** Reads REDIS_URL, REDIS_MODE, REDIS_SENTINEL_MASTER and REDIS_SENTINEL_PASSWORD. Returns undefined if there is no Redis. */
export function readRedis(environment: Environment): RedisSettings | undefined {
  const mode = environment.oneOf("REDIS_MODE", ["standalone", "sentinel", "cluster"], "standalone");
  const text = environment.optionalText("REDIS_URL");
  if (text === undefined) return undefined;
  // A password may contain a comma, so a comma separates URLs only before a scheme.
  const urls = text.split(/[\s,]+(?=rediss?:\/\/)/);
  const schemes = new Set(urls.map((url) => (URL.canParse(url) ? new URL(url).protocol : "")));
  if (schemes.size > 1 || !["redis:", "rediss:"].includes([...schemes][0] ?? ""))
    environment.addProblem(
      "REDIS_URL must be a URL (redis, rediss), or several of the same scheme, separated by commas",
    );
  if (mode === "standalone" && urls.length > 1)
    environment.addProblem("REDIS_URL must be one URL, unless REDIS_MODE is sentinel or cluster");
  const sentinelMaster = environment.optionalText("REDIS_SENTINEL_MASTER");
  if (mode === "sentinel" && sentinelMaster === undefined)
    environment.addProblem("REDIS_SENTINEL_MASTER is not set: the name under which the sentinels monitor Redis");
  return { mode, urls, sentinelMaster, sentinelPassword: environment.optionalText("REDIS_SENTINEL_PASSWORD") };
}
