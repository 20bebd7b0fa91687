import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { CreditSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import { type Database, invalidArgument, isWorkspaceId, notFound, ServiceError } from "@parley/service-kit";
import { type Credit, insertCredit, listCredits, type NewCredit, revokeCredit } from "./credits.store.ts";

/** Implements the calls of WorkspaceAdminService that add, list and revoke credits. */
export function createCreditAdmin(
  database: Database,
): Pick<ServiceImpl<typeof WorkspaceAdminService>, "addCredit" | "listCredits" | "revokeCredit"> {
  return {
    async addCredit({ workspaceId, messages, expiresAt: expiry, requestId, ...request }) {
      const expiresAt = expiry === "" ? null : new Date(expiry);
      if (expiresAt !== null && expiresAt.getTime() <= Date.now())
        throw invalidArgument("expires_at must be in the future");
      const [reason, operator] = [request.reason.trim(), request.operator.trim()];
      const requested = { workspaceId, id: requestId.toLowerCase(), messages, expiresAt, reason, operator };
      const credit = isWorkspaceId(workspaceId) ? await insertCredit(database, requested) : undefined;
      if (credit === undefined) throw notFound("workspace_not_found", "no such workspace");
      if (!hasSameContent(credit, requested))
        throw new ServiceError("already_exists", "request_id_reused", "this request_id belongs to another credit");
      return { credit: toMessage(credit) };
    },
    async listCredits({ workspaceId }) {
      const credits = isWorkspaceId(workspaceId) ? await listCredits(database, workspaceId) : [];
      return { credits: credits.map(toMessage) };
    },
    async revokeCredit({ workspaceId, creditId }) {
      const credit = isWorkspaceId(workspaceId)
        ? await revokeCredit(database, workspaceId, creditId.toLowerCase())
        : undefined;
      if (credit === undefined) throw notFound("credit_not_found", "no such credit");
      return { credit: toMessage(credit) };
    },
  };
}

function hasSameContent(stored: Credit, requested: NewCredit): boolean {
  const { messages, expiresAt, reason, operator } = requested;
  return (
    stored.messages === messages &&
    stored.expiresAt?.getTime() === expiresAt?.getTime() &&
    stored.reason === reason &&
    stored.operator === operator
  );
}

function toMessage({ expiresAt, addedAt, revokedAt, ...credit }: Credit): MessageInitShape<typeof CreditSchema> {
  return {
    ...credit,
    expiresAt: expiresAt?.toISOString() ?? "",
    addedAt: addedAt.toISOString(),
    revokedAt: revokedAt?.toISOString() ?? "",
  };
}
