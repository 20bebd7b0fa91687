import { randomBytes } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { IdentityKeyAdminService, IdentityKeySchema } from "@parley/rpc/conversation";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, isWorkspaceId, notFound, ServiceError } from "@parley/service-kit";
import { deleteIdentityKey, type IdentityKey, insertIdentityKey, listIdentityKeys } from "./identity-keys.store.ts";
import { readPublicIdentityKey } from "./public-identity-key.ts";

const MAX_KEYS = 4;
const KID_BYTES = 8;
const SECRET_BYTES = 32;
/** Lets people and scanners recognize a secret. */
const SECRET_PREFIX = "parley_visitor_";
const GET_WORKSPACE_TIMEOUT_MS = 5_000;

export function createIdentityKeyAdmin(
  database: Database,
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">,
): ServiceImpl<typeof IdentityKeyAdminService> {
  return {
    async createIdentityKey({ workspaceId, pemOrJwk }) {
      const publicKey = pemOrJwk === "" ? undefined : readPublicIdentityKey(pemOrJwk);
      // Throws workspace_not_found for an unknown workspace.
      await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS, waitForReady: true });
      const secret = publicKey === undefined ? createSecret() : "";
      const newKey = {
        workspaceId,
        // Hexadecimal, because a command line would take a kid that begins with a hyphen for an option.
        kid: publicKey?.kid ?? randomBytes(KID_BYTES).toString("hex"),
        algorithm: publicKey?.algorithm ?? "HS256",
        verificationKey: publicKey?.jwk ?? secret,
      };
      const key = await insertIdentityKey(database, newKey, MAX_KEYS);
      if (key === "full")
        throw new ServiceError(
          "resource_exhausted",
          "too_many_identity_keys",
          `a workspace has at most ${MAX_KEYS} identity keys`,
        );
      if (key === "exists")
        throw new ServiceError("already_exists", "kid_taken", "the workspace has an identity key with this kid");
      return { key: toMessage(key), secret };
    },
    async listIdentityKeys({ workspaceId }) {
      return {
        keys: isWorkspaceId(workspaceId) ? (await listIdentityKeys(database, workspaceId)).map(toMessage) : [],
      };
    },
    async revokeIdentityKey({ workspaceId, kid }) {
      if (!isWorkspaceId(workspaceId) || !(await deleteIdentityKey(database, workspaceId, kid)))
        throw notFound("identity_key_not_found", "no such identity key");
      return {};
    },
  };
}

/** Returns the text whose UTF-8 bytes are the HMAC's secret. */
function createSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString("base64url")}`;
}

function toMessage(key: IdentityKey): MessageInitShape<typeof IdentityKeySchema> {
  return { ...key, createdAt: key.createdAt.toISOString() };
}
