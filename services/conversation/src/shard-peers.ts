import type { RpcClient } from "@parley/rpc";
import { LlmService } from "@parley/rpc/llm";
import { QuotaService } from "@parley/rpc/quota";
import {
  connectPeer,
  createRpcClientFailureCounter,
  type Lifecycle,
  type Registry,
  type Tokens,
} from "@parley/service-kit";
import type { Config } from "./config.ts";

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

/** Connects to the quota and llm services. */
export function connectPeers(config: Config, internalTokens: Tokens, registry: Registry, lifecycle: Lifecycle) {
  const { grpcTlsDir: tlsDir, isRpcMultiplexed: isMultiplexed } = config;
  const options = { internalTokens, tlsDir, isMultiplexed, failures: createRpcClientFailureCounter(registry) };
  return {
    quota: connectPeer(QuotaService, { ...options, target: config.quotaTarget }, lifecycle),
    llm: connectPeer(LlmService, { ...options, target: config.llmTarget }, lifecycle),
  };
}

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
