import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import { LRUCache } from "lru-cache";

const MAX_WORKSPACES = 10_000;
const TTL_MS = 60_000;
const FAILURE_TTL_MS = 5_000;
const TIMEOUT_MS = 2_000;

/**
 * Returns a function that reads how many messages a workspace may use in a month, and caches the number for a minute. If the quota service does not
 * answer, it returns 0 for 5 s.
 * @param now a monotonic clock in milliseconds.
 */
export function createMonthlyCapReader(
  quota: RpcClient<typeof QuotaService>,
  now: () => number,
): (workspaceId: string) => Promise<number> {
  const caps = new LRUCache<string, number>({
    max: MAX_WORKSPACES,
    ttl: TTL_MS,
    perf: { now },
    async fetchMethod(workspaceId, _, { options }) {
      try {
        return (await quota.getWorkspace({ workspaceId }, { timeoutMs: TIMEOUT_MS })).workspace?.cap ?? 0;
      } catch {
        options.ttl = FAILURE_TTL_MS;
        return 0;
      }
    },
  });
  return async (workspaceId) => (await caps.fetch(workspaceId)) ?? 0;
}
