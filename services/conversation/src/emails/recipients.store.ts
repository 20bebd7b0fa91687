import { type Database, transaction, workspaceTransaction } from "@parley/service-kit";
import { MAX_RECIPIENTS, type RecipientRef } from "./email.ts";

/** The last message to a recipient. */
export type LastEmail = {
  eventId: string;
  type: string;
  status: "pending" | "sent" | "failed" | "held";
  attempts: number;
  lastAttemptAt: Date | null;
  nextAttemptAt: Date | null;
  error: string | null;
};

export type Recipient = RecipientRef & { address: string; language: string; createdAt: Date };

const RECIPIENT = `workspace_id AS "workspaceId", recipient_id AS "recipientId", address, language, created_at AS "createdAt"`;

const INSERT_RECIPIENT = `
  INSERT INTO conversation.email_recipients (workspace_id, recipient_id, address, language)
  SELECT $1, $2, $3, $4
  WHERE (SELECT count(*) FROM conversation.email_recipients WHERE workspace_id = $1) < ${MAX_RECIPIENTS}
  ON CONFLICT (workspace_id, lower(address)) DO NOTHING
  RETURNING ${RECIPIENT}`;

/** Stores a recipient. Returns `exists` if the workspace has the address, and `full` if it has MAX_RECIPIENTS. */
export async function insertRecipient(
  database: Database,
  { workspaceId, recipientId }: RecipientRef,
  { address, language }: Pick<Recipient, "address" | "language">,
): Promise<Recipient | "exists" | "full"> {
  return workspaceTransaction(database, { table: "conversation.email_recipients", workspaceId }, async (connection) => {
    const values = [workspaceId, recipientId, address, language];
    const { rows } = await connection.query<Recipient>(INSERT_RECIPIENT, values);
    if (rows[0] !== undefined) return rows[0];
    const { rowCount } = await connection.query(
      "SELECT FROM conversation.email_recipients WHERE workspace_id = $1 AND lower(address) = lower($2)",
      [workspaceId, address],
    );
    return rowCount === 1 ? "exists" : "full";
  });
}

const LIST_RECIPIENTS = `
  SELECT r.workspace_id AS "workspaceId", r.recipient_id AS "recipientId", r.address, r.language, r.created_at AS "createdAt",
         m.event_id AS "eventId", m.type, m.status, m.attempts, m.last_attempt_at AS "lastAttemptAt",
         m.next_attempt_at AS "nextAttemptAt", m.error
  FROM conversation.email_recipients r LEFT JOIN LATERAL (
    SELECT * FROM conversation.email_messages m
    WHERE m.workspace_id = r.workspace_id AND m.recipient_id = r.recipient_id ORDER BY m.created_at DESC, m.event_id LIMIT 1
  ) m ON true
  WHERE r.workspace_id = $1 ORDER BY r.created_at, r.recipient_id`;

export type ListedRecipient = Recipient & { last: LastEmail | undefined };

/** Lists a workspace's recipients, oldest first. */
export async function listRecipients(database: Database, workspaceId: string): Promise<ListedRecipient[]> {
  const { rows } = await database.query<Recipient & { [K in keyof LastEmail]: LastEmail[K] | null }>(LIST_RECIPIENTS, [
    workspaceId,
  ]);
  return rows.map(({ workspaceId, recipientId, address, language, createdAt, ...last }) => ({
    ...{ workspaceId, recipientId, address, language, createdAt },
    last: last.eventId === null ? undefined : (last as LastEmail),
  }));
}

/** Removes a recipient and fails its waiting messages. Returns false if the workspace has no such recipient. */
export async function deleteRecipient(
  database: Database,
  { workspaceId, recipientId }: RecipientRef,
): Promise<boolean> {
  return transaction(database, async (connection) => {
    const { rowCount } = await connection.query(
      "DELETE FROM conversation.email_recipients WHERE workspace_id = $1 AND recipient_id = $2",
      [workspaceId, recipientId],
    );
    // A mail server's response may contain the address.
    await connection.query(
      `UPDATE conversation.email_messages
       SET status = CASE WHEN status = 'sent' THEN 'sent' ELSE 'failed' END, next_attempt_at = NULL, error = NULL
       WHERE workspace_id = $1 AND recipient_id = $2 AND (status IN ('pending', 'held') OR error IS NOT NULL)`,
      [workspaceId, recipientId],
    );
    return rowCount === 1;
  });
}
