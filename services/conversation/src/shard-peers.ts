import type { RpcClient } from "@parley/rpc";
import type { LlmService } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";

/** The calls about many workspaces. Each is about the workspaces of one shard, whose number its request has. */
const QUOTA_METHODS = [
  "settle",
  "getMonth",
  "listReservations",
  "getReservations",
  "adjustTurns",
  "listUnpaid",
  "listMonths",
  "closeMonth",
  "listRetentions",
  "listEvents",
] as const;

/** Returns the client of quota for the workspaces of one shard. */
export function quotaOfShard(quota: RpcClient<typeof QuotaService>, shard: number): RpcClient<typeof QuotaService> {
  return { ...quota, ...withShard(quota, QUOTA_METHODS, shard) };
}

/** Returns the client of the llm-proxy for the workspaces of one shard. */
export function llmOfShard(llm: RpcClient<typeof LlmService>, shard: number): RpcClient<typeof LlmService> {
  return { ...llm, ...withShard(llm, ["fillCallLog"], shard) };
}

function withShard<C extends object, K extends keyof C>(client: C, methods: readonly K[], shard: number): Pick<C, K> {
  const entries = methods.map((method) => {
    const call = client[method] as (request: object, options: unknown) => unknown;
    return [method, (request: object, options: unknown) => call({ ...request, shard }, options)];
  });
  return Object.fromEntries(entries) as Pick<C, K>;
}
