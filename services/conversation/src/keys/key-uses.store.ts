import type { Database } from "@parley/service-kit";

export type UsedKey = { workspaceId: string; publicKey: string };

export type KeyUse = UsedKey & { ageSeconds: number };

// Skips and returns the keys that another transaction has locked, for example to revoke them. `storable` contains the uses that are not
// stored yet and whose keys are not locked.
const STORE_KEY_USES = `
  WITH used AS (
    SELECT workspace_id, public_key, CAST((now() - make_interval(secs => age_seconds)) AT TIME ZONE 'UTC' AS date) AS day
    FROM unnest($1::text[], $2::text[], $3::float8[]) AS used (workspace_id, public_key, age_seconds)
  ), storable AS (
    SELECT used.*
    FROM used
    CROSS JOIN LATERAL (
      SELECT FROM conversation.api_keys
      WHERE workspace_id = used.workspace_id AND public_key = used.public_key AND (last_used_on IS NULL OR last_used_on < used.day)
      FOR NO KEY UPDATE SKIP LOCKED
    ) k
  ), stored AS (
    UPDATE conversation.api_keys k SET last_used_on = u.day
    FROM storable u
    WHERE k.workspace_id = u.workspace_id AND k.public_key = u.public_key
  )
  SELECT public_key AS "publicKey"
  FROM used JOIN conversation.api_keys k USING (workspace_id, public_key)
  WHERE (k.last_used_on IS NULL OR k.last_used_on < used.day) AND public_key NOT IN (SELECT public_key FROM storable)`;

/**
 * Sets each key's `last_used_on` to the day of the use, unless `last_used_on` is that day or later. Returns the keys that another transaction
 * has locked, so that the caller can store their uses later.
 */
export async function storeKeyUses(database: Database, keys: readonly KeyUse[]): Promise<string[]> {
  const { rows } = await database.query<{ publicKey: string }>({
    name: "store_key_uses",
    text: STORE_KEY_USES,
    values: [
      keys.map(({ workspaceId }) => workspaceId),
      keys.map(({ publicKey }) => publicKey),
      keys.map(({ ageSeconds }) => ageSeconds),
    ],
  });
  return rows.map(({ publicKey }) => publicKey);
}
