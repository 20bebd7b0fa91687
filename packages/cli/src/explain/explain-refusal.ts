import { type Refusal, RefusalAdminService } from "@parley/rpc/edge";
import type { CallAdmin } from "../admin/call.ts";
import { formatFields } from "../output/table.ts";

/** Returns the refusal of a request to this or to an unknown workspace; undefined if the edges have none, or no longer. */
export async function findRefusal(
  callAdmin: CallAdmin,
  workspaceId: string,
  requestId: string,
): Promise<Refusal | undefined> {
  for (const each of [workspaceId, ""]) {
    const { refusals } = await callAdmin(RefusalAdminService, (service) =>
      service.listRefusals({ workspaceId: each, requestId }),
    );
    if (refusals[0] !== undefined) return refusals[0];
  }
  return undefined;
}

export function formatRefusal(refusal: Refusal): string {
  return formatFields([
    ["request", refusal.requestId],
    ["refused", refusal.refusedAt],
    ["route", refusal.route],
    ["answer", `${refusal.status} ${refusal.code}`],
    ["reason", refusal.reason || "–"],
    ["key", refusal.keySuffix === "" ? "–" : `…${refusal.keySuffix}`],
    ["client", refusal.client],
  ]);
}
