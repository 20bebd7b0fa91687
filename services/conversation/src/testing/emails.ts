import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { insertRecipient, type Recipient } from "../emails/recipients.store.ts";

/** Adds a recipient of e-mail to a workspace. */
export async function addRecipient(
  database: Database,
  workspaceId: string,
  { address = "ada@example.com", language = "en" }: { address?: string; language?: string } = {},
): Promise<Recipient> {
  const recipient = await insertRecipient(database, { workspaceId, recipientId: randomUUID() }, { address, language });
  if (typeof recipient === "string") throw new Error(recipient);
  return recipient;
}

/** Records that the month's usage of a workspace reached a threshold. */
export async function recordThreshold(database: Database, workspaceId: string, threshold = 80): Promise<void> {
  await database.query(
    `INSERT INTO conversation.events (workspace_id, type, occurred_at, data)
     VALUES ($1, 'usage.threshold', now(), jsonb_build_object('month', '2026-11', 'threshold', $2::integer, 'used', 4000, 'cap', 5000))`,
    [workspaceId, threshold],
  );
}
