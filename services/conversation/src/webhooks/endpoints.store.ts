import { type Database, workspaceTransaction } from "@parley/service-kit";
import { type DisabledReason, type EndpointRef, MAX_ENDPOINTS, MAX_PENDING } from "./webhook.ts";

export type Endpoint = EndpointRef & {
  url: string;
  types: string[];
  includeContent: boolean;
  disabledReason: DisabledReason | null;
  failingSince: Date | null;
  lastSequence: number;
  dropped: number;
  pending: number;
  previousExpiresAt: Date | null;
  createdAt: Date;
};

/** An unset setting keeps its value. */
export type EndpointChanges = {
  url: string | undefined;
  types: string[] | undefined;
  includeContent: boolean | undefined;
  enabled: boolean | undefined;
};

const ENDPOINT = `
  w.workspace_id AS "workspaceId", w.endpoint_id AS "endpointId", w.url, w.types, w.include_content AS "includeContent",
  w.disabled_reason AS "disabledReason", w.failing_since AS "failingSince", w.last_sequence AS "lastSequence", w.dropped,
  CASE WHEN w.previous_expires_at > now() THEN w.previous_expires_at END AS "previousExpiresAt", w.created_at AS "createdAt",
  (SELECT count(*)::integer FROM (
    SELECT FROM conversation.webhook_deliveries d
    WHERE d.workspace_id = w.workspace_id AND d.endpoint_id = w.endpoint_id AND d.status = 'pending' LIMIT ${MAX_PENDING}
  ) p) AS pending`;

const INSERT_ENDPOINT = `
  INSERT INTO conversation.webhook_endpoints AS w (workspace_id, endpoint_id, url, types, include_content, secret, disabled_at, disabled_reason)
  SELECT $1, $2, $3, $4, $5, $6, CASE WHEN NOT $7::boolean THEN now() END, CASE WHEN NOT $7::boolean THEN 'owner' END
  WHERE (SELECT count(*) FROM conversation.webhook_endpoints WHERE workspace_id = $1) < ${MAX_ENDPOINTS}
  RETURNING ${ENDPOINT}`;

/** Returns undefined if the workspace has MAX_ENDPOINTS. */
export async function insertEndpoint(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
  { url, types = [], includeContent = false, enabled = true }: Partial<EndpointChanges>,
  encryptedSecret: string,
): Promise<Endpoint | undefined> {
  const values = [workspaceId, endpointId, url, types, includeContent, encryptedSecret, enabled];
  return workspaceTransaction(
    database,
    { table: "conversation.webhook_endpoints", workspaceId },
    async (connection) => {
      const { rows } = await connection.query<Endpoint>(INSERT_ENDPOINT, values);
      return rows[0];
    },
  );
}

/** Lists a workspace's endpoints, oldest first. */
export async function listEndpoints(database: Database, workspaceId: string): Promise<Endpoint[]> {
  const { rows } = await database.query<Endpoint>(
    `SELECT ${ENDPOINT} FROM conversation.webhook_endpoints w WHERE w.workspace_id = $1 ORDER BY w.created_at, w.endpoint_id`,
    [workspaceId],
  );
  return rows;
}

export async function findEndpoint(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
): Promise<Endpoint | undefined> {
  const { rows } = await database.query<Endpoint>(
    `SELECT ${ENDPOINT} FROM conversation.webhook_endpoints w WHERE w.workspace_id = $1 AND w.endpoint_id = $2`,
    [workspaceId, endpointId],
  );
  return rows[0];
}

// An enabled endpoint begins without failures, so that its first failed attempt does not disable it again.
const UPDATE_ENDPOINT = `
  UPDATE conversation.webhook_endpoints w
  SET url = coalesce($3, w.url), types = coalesce($4::text[], w.types), include_content = coalesce($5::boolean, w.include_content),
      disabled_at = CASE WHEN $6::boolean THEN NULL WHEN NOT $6::boolean THEN coalesce(w.disabled_at, now()) ELSE w.disabled_at END,
      disabled_reason = CASE WHEN $6::boolean THEN NULL WHEN NOT $6::boolean THEN coalesce(w.disabled_reason, 'owner') ELSE w.disabled_reason END,
      failing_since = CASE WHEN $6::boolean THEN NULL ELSE w.failing_since END,
      paused_until = CASE WHEN $6::boolean THEN NULL ELSE w.paused_until END
  WHERE w.workspace_id = $1 AND w.endpoint_id = $2
  RETURNING ${ENDPOINT}`;

/** Returns undefined if the workspace has no such endpoint. */
export async function updateEndpoint(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
  { url, types, includeContent, enabled }: EndpointChanges,
): Promise<Endpoint | undefined> {
  const values = [workspaceId, endpointId, url, types, includeContent, enabled];
  const { rows } = await database.query<Endpoint>(UPDATE_ENDPOINT, values);
  return rows[0];
}

/** Returns false if the workspace has no such endpoint. The housekeeping deletes its deliveries. */
export async function deleteEndpoint(database: Database, { workspaceId, endpointId }: EndpointRef): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.webhook_endpoints WHERE workspace_id = $1 AND endpoint_id = $2",
    [workspaceId, endpointId],
  );
  return rowCount === 1;
}

const REPLACE_SECRET = `
  UPDATE conversation.webhook_endpoints w
  SET secret = $3, previous_secret = CASE WHEN $4::integer > 0 THEN w.secret END,
      previous_expires_at = CASE WHEN $4::integer > 0 THEN now() + make_interval(hours => $4) END
  WHERE w.workspace_id = $1 AND w.endpoint_id = $2
  RETURNING ${ENDPOINT}`;

/** Replaces an endpoint's secret, and keeps the previous one for some hours. Returns undefined if the workspace has no such endpoint. */
export async function replaceSecret(
  database: Database,
  { workspaceId, endpointId }: EndpointRef,
  encryptedSecret: string,
  keepPreviousHours: number,
): Promise<Endpoint | undefined> {
  const values = [workspaceId, endpointId, encryptedSecret, keepPreviousHours];
  const { rows } = await database.query<Endpoint>(REPLACE_SECRET, values);
  return rows[0];
}

/** Deletes the previous secrets that no longer sign. */
export async function deleteExpiredSecrets(database: Database): Promise<void> {
  await database.query(
    `UPDATE conversation.webhook_endpoints SET previous_secret = NULL, previous_expires_at = NULL WHERE previous_expires_at <= now()`,
  );
}

export type StoredSecrets = EndpointRef & { secret: string; previousSecret: string | null };

/** Lists up to `limit` endpoints of a shard with a secret that another key than `keyId` has encrypted. */
export async function listSecretsOfOtherKeys(
  database: Database,
  keyId: string,
  limit: number,
): Promise<StoredSecrets[]> {
  const { rows } = await database.query<StoredSecrets>(
    `SELECT workspace_id AS "workspaceId", endpoint_id AS "endpointId", secret, previous_secret AS "previousSecret"
     FROM conversation.webhook_endpoints
     WHERE split_part(secret, '.', 1) <> $1 OR split_part(previous_secret, '.', 1) <> $1 LIMIT $2`,
    [keyId, limit],
  );
  return rows;
}

/** Replaces the encrypted secrets of an endpoint, unless they have changed since they were read. */
export async function replaceEncrypted(
  database: Database,
  read: StoredSecrets,
  encrypted: Pick<StoredSecrets, "secret" | "previousSecret">,
): Promise<void> {
  await database.query(
    `UPDATE conversation.webhook_endpoints SET secret = $3, previous_secret = $4
     WHERE workspace_id = $1 AND endpoint_id = $2 AND secret = $5 AND previous_secret IS NOT DISTINCT FROM $6`,
    [read.workspaceId, read.endpointId, encrypted.secret, encrypted.previousSecret, read.secret, read.previousSecret],
  );
}
