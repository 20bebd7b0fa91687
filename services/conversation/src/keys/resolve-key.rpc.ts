import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResolveKeyRequest, ResolveKeyResponseSchema } from "@parley/rpc/conversation";
import { type Database, notFound } from "@parley/service-kit";
import { resolveKey } from "./keys.store.ts";
import { isPublicKey } from "./public-key.ts";

/** Returns a key's bot. Not cached here: the edge caches it for 4 s, and a revoked key must be refused within 5 s. */
export async function handleResolveKey(
  database: Database,
  keyPrefix: string,
  request: ResolveKeyRequest,
): Promise<MessageInitShape<typeof ResolveKeyResponseSchema>> {
  const found = isPublicKey(keyPrefix, request.publicKey) ? await resolveKey(database, request.publicKey) : undefined;
  if (found === undefined) throw notFound("invalid_api_key", "no such key");
  return found;
}
