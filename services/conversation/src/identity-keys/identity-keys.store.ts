import { type Database, workspaceTransaction } from "@parley/service-kit";
import type { Algorithm } from "./public-identity-key.ts";

export type IdentityKey = { workspaceId: string; kid: string; algorithm: Algorithm; createdAt: Date };

/** `verificationKey` is the secret of HS256, otherwise the public key as a JWK. */
export type NewIdentityKey = Omit<IdentityKey, "createdAt"> & { verificationKey: string };

const IDENTITY_KEY = `workspace_id AS "workspaceId", kid, algorithm, created_at AS "createdAt"`;

/** Stores an identity key. Returns `exists` if the workspace has a key with this kid, and `full` if it has `limit` keys. */
export async function insertIdentityKey(
  database: Database,
  { workspaceId, kid, algorithm, verificationKey }: NewIdentityKey,
  limit: number,
): Promise<IdentityKey | "exists" | "full"> {
  return workspaceTransaction(database, { table: "conversation.identity_keys", workspaceId }, async (connection) => {
    const { rows } = await connection.query<IdentityKey>(
      `INSERT INTO conversation.identity_keys (workspace_id, kid, algorithm, verification_key)
       SELECT $1, $2, $3, $4
       WHERE (SELECT count(*) FROM conversation.identity_keys WHERE workspace_id = $1) < $5
       ON CONFLICT (workspace_id, kid) DO NOTHING
       RETURNING ${IDENTITY_KEY}`,
      [workspaceId, kid, algorithm, verificationKey, limit],
    );
    if (rows[0] !== undefined) return rows[0];
    const { rowCount } = await connection.query(
      "SELECT FROM conversation.identity_keys WHERE workspace_id = $1 AND kid = $2",
      [workspaceId, kid],
    );
    return rowCount === 1 ? "exists" : "full";
  });
}

/** Lists a workspace's identity keys, oldest first. */
export async function listIdentityKeys(database: Database, workspaceId: string): Promise<IdentityKey[]> {
  const { rows } = await database.query<IdentityKey>(
    `SELECT ${IDENTITY_KEY} FROM conversation.identity_keys WHERE workspace_id = $1 ORDER BY created_at, kid`,
    [workspaceId],
  );
  return rows;
}

/** Deletes an identity key. Returns false if the workspace has no such key. */
export async function deleteIdentityKey(database: Database, workspaceId: string, kid: string): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.identity_keys WHERE workspace_id = $1 AND kid = $2",
    [workspaceId, kid],
  );
  return rowCount === 1;
}
