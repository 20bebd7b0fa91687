import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResolveKeyRequest, ResolveKeyResponseSchema } from "@parley/rpc/conversation";
import { notFound, type Shard } from "@parley/service-kit";
import type { KeyShards } from "./key-shards.service.ts";
import type { KeyUses } from "./key-uses.worker.ts";
import { resolveKey } from "./keys.store.ts";

export type ResolveKeyDeps = {
  shards: readonly Shard[];
  keyShards: KeyShards;
  /** By the shard's number. */
  keyUses: readonly Pick<KeyUses, "add">[];
  /** Called with the workspace of a key and the number of its shard. */
  onFound?: (workspaceId: string, shard: number) => void;
};

/** Does not cache keys: the edge already caches the response for 4 s, and a revoked key must be refused within 5 s. */
export async function handleResolveKey(
  { shards, keyShards, keyUses, onFound }: ResolveKeyDeps,
  { publicKey }: Pick<ResolveKeyRequest, "publicKey">,
): Promise<MessageInitShape<typeof ResolveKeyResponseSchema>> {
  const findOn = async ({ number, database }: Shard) => {
    const key = await resolveKey(database, publicKey);
    if (key === undefined) return undefined;
    keyUses[number]?.add({ workspaceId: key.workspaceId, publicKey });
    onFound?.(key.workspaceId, number);
    return shards.length === 1 ? key : { ...key, shard: number };
  };
  const found = await keyShards.find(shards, publicKey, findOn);
  if (found === undefined) throw notFound("invalid_api_key", "no such key");
  return found;
}
