import type { ServiceImpl } from "@connectrpc/connect";
import type { BooksAdminService } from "@parley/rpc/quota";
import { type Database, isWorkspaceId } from "@parley/service-kit";
import { readTurnEntry } from "./turn-entry.store.ts";

/** Implements BooksAdminService, which reads a turn's entry in the usage accounting. The service's name is older than that term. */
export function createTurnEntryAdmin(database: Database): ServiceImpl<typeof BooksAdminService> {
  return {
    async getTurnEntry(request) {
      const { workspaceId, turnId } = request;
      const entry = isWorkspaceId(workspaceId) ? await readTurnEntry(database, workspaceId, turnId) : undefined;
      if (entry === undefined) return { entry: {} };
      const { state, month, heldAt, settledAt, countedAt, charge, creditId } = entry;
      const times = { heldAt: toText(heldAt), settledAt: toText(settledAt), countedAt: toText(countedAt) };
      return { entry: { state, month, charge, creditId: creditId ?? "", ...times } };
    },
  };
}

function toText(time: Date | null): string {
  return time?.toISOString() ?? "";
}
