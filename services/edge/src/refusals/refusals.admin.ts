import type { ServiceImpl } from "@connectrpc/connect";
import type { RefusalAdminService } from "@parley/rpc/edge";
import { invalidArgument, ServiceError } from "@parley/service-kit";
import type { RefusalStore } from "./refusals.client.ts";

/** @param store undefined without Redis. */
export function createRefusalAdmin(store: RefusalStore | undefined): ServiceImpl<typeof RefusalAdminService> {
  return {
    async listRefusals({ workspaceId, since, requestId }) {
      const sinceMs = since === "" ? 0 : Date.parse(since);
      if (Number.isNaN(sinceMs)) throw invalidArgument("since must be an RFC 3339 time");
      if (store === undefined)
        throw new ServiceError(
          "failed_precondition",
          "refusals_not_stored",
          "the edge has no Redis to store refusals in",
        );
      const records = await store.list(workspaceId, sinceMs).catch((cause: unknown) => {
        throw new ServiceError("unavailable", "unavailable", "Redis does not answer", { cause });
      });
      return {
        refusals: records
          .filter((record) => requestId === "" || record.requestId === requestId)
          .map(({ refusedAtMs, workspaceId: _, ...refusal }) => ({
            ...refusal,
            refusedAt: new Date(refusedAtMs).toISOString(),
          })),
      };
    },
  };
}
