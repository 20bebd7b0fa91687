import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ApiKeySchema, KeyAdminService } from "@parley/rpc/conversation";
import { isWorkspaceId, notFound, ServiceError, type ShardedDatabase, shardOfWorkspace } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { normaliseAllowedDomains } from "./allowed-domain.ts";
import type { KeyShards } from "./key-shards.service.ts";
import { type ApiKey, insertKey, listKeys, revokeKey, updateKey } from "./keys.store.ts";

/** The limit of a workspace's keys that are not revoked. Also the limit of the revoked keys that ListKeys returns. */
const MAX_KEYS = 1_000;

export function createKeyAdmin(
  sharded: ShardedDatabase,
  keyShards: KeyShards,
  newPublicKey: (shard?: number) => string,
): ServiceImpl<typeof KeyAdminService> {
  const { database, shards } = sharded;
  return {
    async createKey(request) {
      const allowedDomains = normaliseAllowedDomains(request.domains);
      await requireBotId(database, request);
      const { workspaceId, botSlug } = request;
      const shard = await shardOfWorkspace(sharded, "conversation.api_keys", workspaceId);
      const newKey = {
        // The key of a single database names no shard, because the database may become one of several shards.
        publicKey: newPublicKey(shards.length === 1 ? undefined : shard.number),
        workspaceId,
        botSlug,
        allowedDomains,
        name: request.name.trim(),
        challenge: request.challenge || "off",
      };
      const key = await insertKey(database, newKey, MAX_KEYS);
      if (key === undefined) {
        // The bot may have been deleted since the first check.
        await requireBotId(database, request);
        throw new ServiceError(
          "resource_exhausted",
          "too_many_keys",
          `a workspace has at most ${MAX_KEYS} keys that are not revoked`,
        );
      }
      return { key: toMessage(key) };
    },
    async updateKey({ publicKey, workspaceId, domains, name: newName, identity, challenge }) {
      const name = newName?.trim();
      const keepsDomains = domains.length === 0 && (name ?? identity ?? challenge) !== undefined;
      const allowedDomains = keepsDomains ? undefined : normaliseAllowedDomains(domains);
      const couldExist = workspaceId === "" || isWorkspaceId(workspaceId);
      const changes = { allowedDomains, name, identity, challenge };
      const key = couldExist
        ? await keyShards.find(shards, publicKey, (shard) => updateKey(shard.database, publicKey, workspaceId, changes))
        : undefined;
      if (key === undefined) throw notFound("key_not_found", "no such key, or it is revoked");
      return { key: toMessage(key) };
    },
    async listKeys({ workspaceId }) {
      return {
        keys: isWorkspaceId(workspaceId) ? (await listKeys(database, workspaceId, MAX_KEYS)).map(toMessage) : [],
      };
    },
    async revokeKey({ publicKey, workspaceId }) {
      const couldExist = workspaceId === "" || isWorkspaceId(workspaceId);
      const key = couldExist
        ? await keyShards.find(shards, publicKey, (shard) => revokeKey(shard.database, publicKey, workspaceId))
        : undefined;
      if (key === undefined) throw notFound("key_not_found", "no such key");
      return { key: toMessage(key) };
    },
  };
}

function toMessage(key: ApiKey): MessageInitShape<typeof ApiKeySchema> {
  return { ...key, createdAt: key.createdAt.toISOString(), revokedAt: key.revokedAt?.toISOString() ?? "" };
}
