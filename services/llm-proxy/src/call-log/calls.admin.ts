import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { CallLedgerAdminService, CallSchema } from "@parley/rpc/llm";
import { type Database, invalid, isUuid, isWorkspaceId, parseMonth } from "@parley/service-kit";
import { type CallPlace, type CallRow, listCalls, listCallsOfMonth } from "./calls.store.ts";
import { sumCalls } from "./sum-calls.store.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
const MAX_SUMMED = 1_000;

/** The admin service that reads the call ledger; `wallClock`, in ms since 1970, is the one that dates its rows. */
export function callLedgerAdmin(
  database: Database,
  wallClock: () => number,
): ServiceImpl<typeof CallLedgerAdminService> {
  const thisMonth = () => new Date(wallClock()).toISOString().slice(0, 7);
  return {
    async listCalls({ workspaceId, turnId }) {
      requireWorkspace(workspaceId);
      if (!isUuid(turnId)) throw invalid("turn_id is not a UUID");
      if (!isWorkspaceId(workspaceId)) return { calls: [] };
      return { calls: (await listCalls(database, workspaceId, turnId)).map(toMessage) };
    },
    async listCallsOfMonth({ workspaceId, month, pageSize, pageToken }) {
      requireWorkspace(workspaceId);
      if (pageSize < 0 || pageSize > MAX_PAGE) throw invalid(`page_size must be from 0 to ${MAX_PAGE}`);
      const limit = pageSize || DEFAULT_PAGE;
      const before = readPlace(pageToken);
      if (!isWorkspaceId(workspaceId)) return { calls: [] };
      const rows = await listCallsOfMonth(database, workspaceId, parseMonth(month) ?? thisMonth(), { before, limit });
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return { calls: rows.map(toMessage), nextPageToken: last === undefined ? "" : writePlace(last) };
    },
    async sumCalls({ month, workspaceId, workspaceIds }) {
      const asked = workspaceId === "" ? [...new Set(workspaceIds)] : [workspaceId];
      if (asked.length > MAX_SUMMED) throw invalid(`workspace_ids must be at most ${MAX_SUMMED}`);
      asked.forEach(requireWorkspace);
      const summed = parseMonth(month) ?? thisMonth();
      const known = asked.length === 0 ? undefined : asked.filter(isWorkspaceId);
      const sums = (await sumCalls(database, summed, known)).map((sum) => ({
        ...sum,
        calls: BigInt(sum.calls),
        tokensIn: BigInt(sum.tokensIn),
        tokensOut: BigInt(sum.tokensOut),
        unpricedCalls: BigInt(sum.unpricedCalls),
        estimatedCalls: BigInt(sum.estimatedCalls),
      }));
      return { sums, month: summed };
    },
  };
}

/** One that could not exist is simply unknown, and has no calls. */
function requireWorkspace(workspaceId: string): void {
  if (workspaceId === "") throw invalid("workspace_id is missing");
}

function writePlace({ createdAt, callId }: CallPlace): string {
  return `${createdAt.getTime()}.${callId}`;
}

function readPlace(token: string): CallPlace | undefined {
  if (token === "") return undefined;
  const [, time, callId = ""] = /^(\d{1,15})\.(.*)$/.exec(token) ?? [];
  if (!isUuid(callId)) throw invalid("page_token is none that a page before gave");
  return { createdAt: new Date(Number(time)), callId };
}

function toMessage(row: CallRow): MessageInitShape<typeof CallSchema> {
  const { createdAt, estimated, cost, tries, ...rest } = row;
  return {
    ...rest,
    startedAt: createdAt.toISOString(),
    tokensEstimated: estimated,
    cost: cost ?? "",
    tries: [...tries],
  };
}
