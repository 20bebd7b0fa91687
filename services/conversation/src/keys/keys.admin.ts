import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ApiKeySchema, KeyAdminService } from "@parley/rpc/conversation";
import { type Database, isWorkspaceId, notFound } from "@parley/service-kit";
import { botNotFound, requireBotId } from "../bots/index.ts";
import { normaliseAllowedDomains } from "./allowed-domain.ts";
import { type ApiKey, insertKey, listKeys, revokeKey } from "./keys.store.ts";
import { isPublicKey } from "./public-key.ts";

/** Implements the admin service of public keys. */
export function createKeyAdmin(
  database: Database,
  keyPrefix: string,
  createKey: () => string,
): ServiceImpl<typeof KeyAdminService> {
  return {
    async createKey(request) {
      const allowedDomains = normaliseAllowedDomains(request.domains);
      await requireBotId(database, request);
      const { workspaceId, botSlug } = request;
      const key = await insertKey(database, { publicKey: createKey(), workspaceId, botSlug, allowedDomains });
      if (key === undefined) throw botNotFound();
      return { key: toMessage(key) };
    },
    async listKeys({ workspaceId }) {
      return { keys: isWorkspaceId(workspaceId) ? (await listKeys(database, workspaceId)).map(toMessage) : [] };
    },
    async revokeKey({ publicKey, workspaceId }) {
      const couldExist = isPublicKey(keyPrefix, publicKey) && (workspaceId === "" || isWorkspaceId(workspaceId));
      const key = couldExist ? await revokeKey(database, publicKey, workspaceId) : undefined;
      if (key === undefined) throw notFound("key_not_found", "no such key");
      return { key: toMessage(key) };
    },
  };
}

function toMessage(key: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  return { ...key, createdAt: key.createdAt.toISOString(), revokedAt: key.revokedAt?.toISOString() ?? "" };
}
