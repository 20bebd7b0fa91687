import { type Database, workspaceTransaction } from "@parley/service-kit";
import type { Display } from "../bots/index.ts";

export type ResolvedKey = {
  workspaceId: string;
  botId: string;
  allowedDomains: string[];
  display: Display;
  identity: string;
  challenge: string;
  visitorMessagesPerDay: number;
  handoffEnabled: boolean;
  verificationKeys: { kid: string; algorithm: string; key: string }[];
};

const RESOLVE_KEY = `
  SELECT k.workspace_id AS "workspaceId", k.bot_id AS "botId", k.allowed_domains AS "allowedDomains", b.display, k.identity, k.challenge,
         coalesce((b.settings->>'visitorMessagesPerDay')::integer, 0) AS "visitorMessagesPerDay",
         coalesce((b.settings->>'handoffEnabled')::boolean, false) AS "handoffEnabled",
         coalesce((
           SELECT json_agg(json_build_object('kid', i.kid, 'algorithm', i.algorithm, 'key', i.verification_key) ORDER BY i.kid)
           FROM conversation.identity_keys i
           WHERE i.workspace_id = k.workspace_id
         ), '[]') AS "verificationKeys"
  FROM conversation.api_keys k
  JOIN conversation.bots b ON b.workspace_id = k.workspace_id AND b.bot_id = k.bot_id
  WHERE k.public_key = $1 AND k.revoked_at IS NULL AND b.deleted_at IS NULL
    AND NOT EXISTS (SELECT FROM conversation.workspace_deletions d WHERE d.workspace_id = k.workspace_id)`;

/** Returns a key's bot, its settings and the workspace's identity keys; undefined if the key is unknown or revoked, or its workspace is deleted. */
export async function resolveKey(database: Database, publicKey: string): Promise<ResolvedKey | undefined> {
  const { rows } = await database.query<ResolvedKey>({ name: "resolve_key", text: RESOLVE_KEY, values: [publicKey] });
  return rows[0];
}

export type ApiKey = {
  publicKey: string;
  workspaceId: string;
  botSlug: string;
  allowedDomains: string[];
  createdAt: Date;
  revokedAt: Date | null;
  /** "YYYY-MM-DD"; empty if the key was not used. */
  lastUsedOn: string;
  /** What the owner calls the key; may be empty. */
  name: string;
  /** Whether visitors need a visitor token: optional or required. */
  identity: string;
  /** When visitors must solve a challenge: off, suspicious or always. */
  challenge: string;
};

/** The start of a query. A JOIN with the selected keys, `k`, must follow. */
const SELECT_API_KEY = `
  SELECT k.public_key AS "publicKey", k.workspace_id AS "workspaceId", b.slug AS "botSlug",
         k.allowed_domains AS "allowedDomains", k.created_at AS "createdAt", k.revoked_at AS "revokedAt",
         coalesce(to_char(k.last_used_on, 'YYYY-MM-DD'), '') AS "lastUsedOn", k.name, k.identity, k.challenge
  FROM conversation.bots b`;

/** Stores a key for a bot. Returns undefined if the workspace has `limit` keys that are not revoked, or if it has no such bot. */
export async function insertKey(
  database: Database,
  key: Pick<ApiKey, "publicKey" | "workspaceId" | "botSlug" | "allowedDomains" | "name" | "challenge">,
  limit: number,
): Promise<ApiKey | undefined> {
  return workspaceTransaction(
    database,
    { table: "conversation.api_keys", workspaceId: key.workspaceId },
    async (connection) => {
      const { rows } = await connection.query<ApiKey>(
        `WITH k AS (
         INSERT INTO conversation.api_keys (workspace_id, public_key, bot_id, allowed_domains, name, challenge)
         SELECT workspace_id, $3, bot_id, $4, $6, $7 FROM conversation.bots
         WHERE workspace_id = $1 AND slug = $2 AND deleted_at IS NULL
           AND (SELECT count(*) FROM conversation.api_keys WHERE workspace_id = $1 AND revoked_at IS NULL) < $5
         RETURNING *
       )
       ${SELECT_API_KEY} JOIN k USING (workspace_id, bot_id)`,
        [key.workspaceId, key.botSlug, key.publicKey, key.allowedDomains, limit, key.name, key.challenge],
      );
      return rows[0];
    },
  );
}

/** Lists a workspace's keys that are not revoked and the `maxRevoked` keys that were revoked last, all in the order of their creation. */
export async function listKeys(database: Database, workspaceId: string, maxRevoked: number): Promise<ApiKey[]> {
  const { rows } = await database.query<ApiKey>(
    `${SELECT_API_KEY} JOIN (
       SELECT * FROM conversation.api_keys WHERE workspace_id = $1 AND revoked_at IS NULL
       UNION ALL
       (SELECT * FROM conversation.api_keys WHERE workspace_id = $1 AND revoked_at IS NOT NULL
        ORDER BY revoked_at DESC LIMIT $2)
     ) k USING (workspace_id, bot_id)
     ORDER BY k.created_at, k.public_key`,
    [workspaceId, maxRevoked],
  );
  return rows;
}

/** The fields of a key to change. */
export type KeyChanges = Partial<Record<"name" | "identity" | "challenge", string | undefined>> & {
  allowedDomains?: readonly string[] | undefined;
};

/** Changes a key. If `workspaceId` is empty, the key may belong to any workspace. Returns undefined if the key is unknown or revoked. */
export async function updateKey(
  database: Database,
  publicKey: string,
  workspaceId: string,
  { allowedDomains, name, identity, challenge }: KeyChanges,
): Promise<ApiKey | undefined> {
  const { rows } = await database.query<ApiKey>(
    `WITH k AS (
       UPDATE conversation.api_keys
       SET allowed_domains = coalesce($3, allowed_domains), name = coalesce($4, name), identity = coalesce($5, identity),
           challenge = coalesce($6, challenge)
       WHERE public_key = $1 AND $2 IN ('', workspace_id) AND revoked_at IS NULL RETURNING *
     )
     ${SELECT_API_KEY} JOIN k USING (workspace_id, bot_id)`,
    [publicKey, workspaceId, allowedDomains ?? null, name ?? null, identity ?? null, challenge ?? null],
  );
  return rows[0];
}

/**
 * Revokes a key. If `workspaceId` is empty, the key may belong to any workspace. Keeps the time of the first revocation. Returns undefined if
 * the key is unknown.
 */
export async function revokeKey(
  database: Database,
  publicKey: string,
  workspaceId: string,
): Promise<ApiKey | undefined> {
  const { rows } = await database.query<ApiKey>(
    `WITH k AS (
       UPDATE conversation.api_keys SET revoked_at = coalesce(revoked_at, now())
       WHERE public_key = $1 AND $2 IN ('', workspace_id) RETURNING *
     )
     ${SELECT_API_KEY} JOIN k USING (workspace_id, bot_id)`,
    [publicKey, workspaceId],
  );
  return rows[0];
}
