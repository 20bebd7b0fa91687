import type { Cluster, Redis } from "ioredis";
import type { RefusalRecord } from "./refusal-recorder.ts";

/** The latest refusals of all edges that share the Redis. They are lost with it. */
export type RefusalStore = {
  /** Stores a record in the background. If Redis is not available, the record is lost. */
  add(record: RefusalRecord): void;
  /** Returns the records of a workspace that are not older than `sinceMs`, newest first. The empty id selects those without a workspace. */
  list(workspaceId: string, sinceMs: number): Promise<RefusalRecord[]>;
};

/** Bounds the memory of a workspace to about 200 kB. Redis removes whole blocks of entries, so up to 100 more may be stored. */
const MAX_RECORDS = 500;
const TTL_SECONDS = 24 * 3_600;

/** @param connection returns the current connection, which the rate limiter shares. */
export function createRefusalStore(connection: () => Redis | Cluster): RefusalStore {
  return {
    add(record) {
      const redis = connection();
      if (redis.status !== "ready") return;
      const key = toKey(record.workspaceId);
      redis
        .pipeline()
        .xadd(key, "MAXLEN", "~", MAX_RECORDS, "*", "refusal", JSON.stringify(record))
        .expire(key, TTL_SECONDS)
        .exec()
        .catch(() => undefined);
    },
    async list(workspaceId, sinceMs) {
      const entries = await connection().xrevrange(toKey(workspaceId), "+", Math.max(0, Math.floor(sinceMs)));
      return entries.map(([, [, json = ""]]) => JSON.parse(json) as RefusalRecord);
    },
  };
}

const toKey = (workspaceId: string) => `parley:refusals:${workspaceId}`;
