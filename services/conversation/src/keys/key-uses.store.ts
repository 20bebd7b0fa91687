import type { Database } from "@parley/service-kit";

export type UsedKey = { workspaceId: string; publicKey: string };

/** A use of a key, `ageSeconds` ago. */
export type KeyUse = UsedKey & { ageSeconds: number };

// Several replicas may store a use of the same key. SKIP LOCKED skips a key that another replica is storing, because that replica stores the
// same day, except at midnight.
const STORE_KEY_USES = `
  WITH unstored AS (
    SELECT k.workspace_id, k.public_key, k.day
    FROM unnest($1::text[], $2::text[], $3::float8[]) AS used (workspace_id, public_key, age_seconds)
    CROSS JOIN LATERAL (
      SELECT workspace_id, public_key, day
      FROM conversation.api_keys, CAST((now() - make_interval(secs => used.age_seconds)) AT TIME ZONE 'UTC' AS date) AS day
      WHERE workspace_id = used.workspace_id AND public_key = used.public_key AND (last_used_on IS NULL OR last_used_on < day)
      FOR NO KEY UPDATE OF api_keys SKIP LOCKED
    ) k
  )
  UPDATE conversation.api_keys k SET last_used_on = u.day
  FROM unstored u
  WHERE k.workspace_id = u.workspace_id AND k.public_key = u.public_key`;

/** Stores the days of the uses as the days of the keys' last use. Does not write keys that have this day or a later one already. */
export async function storeKeyUses(database: Database, keys: readonly KeyUse[]): Promise<void> {
  await database.query({
    name: "store_key_uses",
    text: STORE_KEY_USES,
    values: [
      keys.map(({ workspaceId }) => workspaceId),
      keys.map(({ publicKey }) => publicKey),
      keys.map(({ ageSeconds }) => ageSeconds),
    ],
  });
}
