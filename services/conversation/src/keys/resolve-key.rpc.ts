import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResolveKeyRequest, ResolveKeyResponseSchema } from "@parley/rpc/conversation";
import { type Database, notFound } from "@parley/service-kit";
import type { KeyUses } from "./key-uses.worker.ts";
import { resolveKey } from "./keys.store.ts";
import { isPublicKey } from "./public-key.ts";

export type ResolveKeyDeps = { database: Database; keyPrefix: string; keyUses: Pick<KeyUses, "add"> };

/** Does not cache keys: the edge already caches the response for 4 s, and a revoked key must be refused within 5 s. */
export async function handleResolveKey(
  { database, keyPrefix, keyUses }: ResolveKeyDeps,
  { publicKey }: Pick<ResolveKeyRequest, "publicKey">,
): Promise<MessageInitShape<typeof ResolveKeyResponseSchema>> {
  const found = isPublicKey(keyPrefix, publicKey) ? await resolveKey(database, publicKey) : undefined;
  if (found === undefined) throw notFound("invalid_api_key", "no such key");
  keyUses.add({ workspaceId: found.workspaceId, publicKey });
  return found;
}
