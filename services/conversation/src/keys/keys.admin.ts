import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ApiKeySchema, KeyAdminService } from "@parley/rpc/conversation";
import { type Database, isWorkspaceId, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { normaliseAllowedDomains } from "./allowed-domain.ts";
import { type ApiKey, insertKey, listKeys, revokeKey, updateKey } from "./keys.store.ts";
import { isPublicKey } from "./public-key.ts";

/** The limit of a workspace's keys that are not revoked. Also the limit of the revoked keys that ListKeys returns. */
const MAX_KEYS = 1_000;

export function createKeyAdmin(
  database: Database,
  keyPrefix: string,
  newPublicKey: () => string,
): ServiceImpl<typeof KeyAdminService> {
  return {
    async createKey(request) {
      const allowedDomains = normaliseAllowedDomains(request.domains);
      await requireBotId(database, request);
      const { workspaceId, botSlug } = request;
      const newKey = {
        publicKey: newPublicKey(),
        workspaceId,
        botSlug,
        allowedDomains,
        name: request.name.trim(),
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
    async updateKey({ publicKey, workspaceId, domains, name: newName }) {
      const name = newName?.trim();
      const allowedDomains = domains.length === 0 && name !== undefined ? undefined : normaliseAllowedDomains(domains);
      const couldExist = isPublicKey(keyPrefix, publicKey) && (workspaceId === "" || isWorkspaceId(workspaceId));
      const key = couldExist ? await updateKey(database, publicKey, workspaceId, { allowedDomains, name }) : undefined;
      if (key === undefined) throw notFound("key_not_found", "no such key, or it is revoked");
      return { key: toMessage(key) };
    },
    async listKeys({ workspaceId }) {
      return {
        keys: isWorkspaceId(workspaceId) ? (await listKeys(database, workspaceId, MAX_KEYS)).map(toMessage) : [],
      };
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
