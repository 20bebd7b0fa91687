import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type { EmailAdminService, EmailRecipientSchema } from "@parley/rpc/conversation";
import type { QuotaService } from "@parley/rpc/quota";
import { type Database, invalidArgument, isUuid, isWorkspaceId, notFound, ServiceError } from "@parley/service-kit";
import { MAX_EMAILS_PER_HOUR, MAX_RECIPIENTS, type RecipientRef, requireAddress } from "./email.ts";
import { queueTestEmail } from "./queue.store.ts";
import {
  deleteRecipient,
  insertRecipient,
  type ListedRecipient,
  listRecipients,
  type Recipient,
} from "./recipients.store.ts";
import { MAILED_TYPES } from "./render-email.ts";
import { ENGLISH, LANGUAGES } from "./translate.ts";

const GET_WORKSPACE_TIMEOUT_MS = 5_000;

export type EmailAdminDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  /** Whether the installation has a mail server. */
  isAvailable: boolean;
};

export function createEmailAdmin({
  database,
  quota,
  isAvailable,
}: EmailAdminDeps): ServiceImpl<typeof EmailAdminService> {
  const requireAvailable = () => {
    if (isAvailable) return;
    throw new ServiceError(
      "failed_precondition",
      "email_off",
      "e-mail is off: the operator must set SMTP_URL and MAIL_FROM of the conversation service",
    );
  };
  return {
    async addRecipient({ workspaceId, ...request }) {
      requireAvailable();
      const address = requireAddress(request.address);
      const language = requireLanguage(request.language);
      // Throws workspace_not_found for an unknown workspace.
      await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS, waitForReady: true });
      const ref = { workspaceId, recipientId: randomUUID() };
      const recipient = await insertRecipient(database, ref, { address, language });
      if (recipient === "exists")
        throw new ServiceError("already_exists", "recipient_exists", "the workspace has this address");
      if (recipient === "full")
        throw new ServiceError(
          "resource_exhausted",
          "too_many_recipients",
          `a workspace has at most ${MAX_RECIPIENTS} recipients`,
        );
      return { recipient: toRecipient(recipient) };
    },
    async listRecipients({ workspaceId }) {
      const recipients = isWorkspaceId(workspaceId) ? await listRecipients(database, workspaceId) : [];
      return {
        recipients: recipients.map(toListedRecipient),
        languages: [...LANGUAGES],
        available: isAvailable,
        types: [...MAILED_TYPES],
      };
    },
    async removeRecipient(request) {
      if (!(await deleteRecipient(database, requireRef(request)))) throw recipientNotFound();
      return {};
    },
    async sendTestEmail(request) {
      requireAvailable();
      const eventId = await queueTestEmail(database, requireRef(request));
      if (eventId === undefined) throw recipientNotFound();
      if (eventId === "limited")
        throw new ServiceError(
          "resource_exhausted",
          "too_many_emails",
          `the workspace has sent ${MAX_EMAILS_PER_HOUR} messages in the last hour`,
        );
      return { eventId };
    },
  };
}

function requireLanguage(language: string): string {
  if (language === "") return ENGLISH;
  if (!LANGUAGES.includes(language)) throw invalidArgument(`language must be one of ${LANGUAGES.join(", ")}`);
  return language;
}

function requireRef({ workspaceId, id }: { workspaceId: string; id: string }): RecipientRef {
  if (!isWorkspaceId(workspaceId) || !isUuid(id)) throw recipientNotFound();
  return { workspaceId, recipientId: id };
}

function recipientNotFound(): ServiceError {
  return notFound("recipient_not_found", "no such recipient");
}

function toRecipient({ workspaceId, recipientId: id, address, language, createdAt }: Recipient) {
  return { workspaceId, id, address, language, createdAt: createdAt.toISOString() };
}

const toText = (time: Date | null) => time?.toISOString() ?? "";

function toListedRecipient({ last, ...recipient }: ListedRecipient): MessageInitShape<typeof EmailRecipientSchema> {
  if (last === undefined) return toRecipient(recipient);
  const { lastAttemptAt, nextAttemptAt, error, ...rest } = last;
  const lastMessage = {
    ...rest,
    lastAttemptAt: toText(lastAttemptAt),
    nextAttemptAt: toText(nextAttemptAt),
    error: error ?? "",
  };
  return { ...toRecipient(recipient), lastMessage };
}
