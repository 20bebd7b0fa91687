import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ResolveKeyRequest, ResolveKeyResponseSchema } from "@parley/rpc/conversation";
import { type Database, notFound } from "@parley/service-kit";
import { resolveKey } from "./keys.store.ts";
import { isPublicKey } from "./public-key.ts";

/** Not cached here: the edge keeps an answer for 4 s, and a revoked key is to be refused within 5. */
export async function handleResolveKey(
  database: Database,
  keyPrefix: string,
  request: ResolveKeyRequest,
): Promise<MessageInitShape<typeof ResolveKeyResponseSchema>> {
  const found = isPublicKey(keyPrefix, request.publicKey) ? await resolveKey(database, request.publicKey) : undefined;
  if (found === undefined) throw notFound("invalid_api_key", "no such key");
  return found;
}
