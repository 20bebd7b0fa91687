import type { Database } from "@parley/service-kit";

export type UsedKey = { workspaceId: string; publicKey: string };

// Replicas store the same keys. A key that another replica is storing is skipped, because that replica stores the same day.
const STORE_KEY_USES = `
  WITH unstored AS (
    SELECT k.workspace_id, k.public_key
    FROM unnest($1::text[], $2::text[]) AS used (workspace_id, public_key)
    CROSS JOIN LATERAL (
      SELECT workspace_id, public_key FROM conversation.api_keys
      WHERE workspace_id = used.workspace_id AND public_key = used.public_key
        AND (last_used_on IS NULL OR last_used_on < (now() AT TIME ZONE 'UTC')::date)
      FOR NO KEY UPDATE SKIP LOCKED
    ) k
  )
  UPDATE conversation.api_keys k SET last_used_on = (now() AT TIME ZONE 'UTC')::date
  FROM unstored u
  WHERE k.workspace_id = u.workspace_id AND k.public_key = u.public_key`;

/** Stores today as the day of the keys' last use. Does not write keys that have this day already. */
export async function storeKeyUses(database: Database, keys: readonly UsedKey[]): Promise<void> {
  await database.query({
    name: "store_key_uses",
    text: STORE_KEY_USES,
    values: [keys.map(({ workspaceId }) => workspaceId), keys.map(({ publicKey }) => publicKey)],
  });
}
