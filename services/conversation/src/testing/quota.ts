import { createHash } from "node:crypto";
import { Server } from "@grpc/grpc-js";
import { implementService, RpcError, status } from "@parley/rpc";
import { type Month, QuotaService, ReservationState, type Settlement, SettleOutcome } from "@parley/rpc/quota";
import { listen } from "@parley/service-kit/testing";

export type TestQuota = {
  target: string;
  /** The settlements of each Settle call. */
  settleCalls: Settlement[][];
  /** The shard of each settled turn's first Settle call. */
  shardByTurn: Map<string, number>;
  outcomeOf(turnId: string): SettleOutcome | undefined;
  countDone(workspaceId: string): number;
  /** Deletes a turn, as pruning or a restore from an older backup does. */
  deleteTurn(turnId: string): void;
  /** What ListMonths returns. CloseMonth sets closedAt. */
  months: (Pick<Month, "month" | "closedAt" | "endedSeconds"> & { used: bigint })[];
  /** All calls fail with UNAVAILABLE. */
  isUnavailable: boolean;
  isSettleUnavailable: boolean;
  /** Turns that Settle records but omits from its response. */
  unacknowledged: Set<string>;
  /** Turns whose settlements Settle refuses, because their workspace is on another shard. */
  misrouted: Set<string>;
  workspaces: Set<string>;
  knowledgeLimits: Map<string, { maxKnowledgeDocuments: number; maxKnowledgeCharacters: number }>;
  /** What ListUnpaid returns for a workspace, instead of the settled replies of the day. CorrectUnpaid sets it. */
  unpaid: Map<string, number>;
  close(): void;
};

const { DONE, VOID } = ReservationState;

/** Starts a fake quota service on a real gRPC server. */
export async function startTestQuota(port = 0): Promise<TestQuota> {
  const server = new Server();
  const settlementByTurn = new Map<string, Settlement>();
  const doneTurnIds = (workspaceId: string, month?: string) =>
    [...settlementByTurn.values()]
      .filter(
        (each) =>
          each.outcome === SettleOutcome.DONE &&
          each.workspaceId === workspaceId &&
          (month === undefined || each.month === month),
      )
      .map((each) => each.turnId);
  const quota: TestQuota = {
    target: "",
    settleCalls: [],
    shardByTurn: new Map(),
    months: [],
    isUnavailable: false,
    isSettleUnavailable: false,
    unacknowledged: new Set(),
    misrouted: new Set(),
    workspaces: new Set(),
    knowledgeLimits: new Map(),
    unpaid: new Map(),
    outcomeOf: (turnId) => settlementByTurn.get(turnId)?.outcome,
    countDone: (workspaceId) => doneTurnIds(workspaceId).length,
    deleteTurn: (turnId) => void settlementByTurn.delete(turnId),
    close: () => server.forceShutdown(),
  };
  const workspace = (id: string) => ({
    id,
    name: id,
    plan: "pro",
    cap: 5_000,
    createdAt: "2026-01-01T00:00:00Z",
    maxKnowledgeDocuments: 2_000,
    maxKnowledgeCharacters: 50_000_000,
    ...quota.knowledgeLimits.get(id),
  });
  const reservationsOf = (turns: readonly { workspaceId: string; turnId: string }[]) =>
    turns.flatMap(({ workspaceId, turnId }) => {
      const outcome = settlementByTurn.get(turnId)?.outcome;
      return outcome === undefined
        ? []
        : [{ workspaceId, turnId, state: outcome === SettleOutcome.DONE ? DONE : VOID }];
    });
  const unimplemented = () =>
    Promise.reject(new RpcError(status.UNIMPLEMENTED, "unimplemented", "not implemented by the test double"));
  implementService(
    server,
    QuotaService,
    {
      reserve: unimplemented,
      async settle({ settlements: sent, shard }) {
        if (quota.isSettleUnavailable) throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
        const settlements = sent.filter(({ turnId }) => !quota.misrouted.has(turnId));
        if (settlements.length === 0 && sent.length > 0)
          throw new RpcError(status.FAILED_PRECONDITION, "wrong_shard", "the workspace is on another shard");
        quota.settleCalls.push(settlements);
        for (const each of settlements) {
          if (settlementByTurn.has(each.turnId)) continue;
          settlementByTurn.set(each.turnId, each);
          quota.shardByTurn.set(each.turnId, shard);
        }
        const acknowledged = settlements.filter((each) => !quota.unacknowledged.has(each.turnId));
        return { settled: acknowledged.map(({ workspaceId, turnId, outcome }) => ({ workspaceId, turnId, outcome })) };
      },
      async getWorkspace({ workspaceId }) {
        // The workspaces of createBot() exist.
        if (!quota.workspaces.has(workspaceId) && !/^ws_\d+$/.test(workspaceId))
          throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
        return { workspace: workspace(workspaceId) };
      },
      listRetentions: async () => ({ workspaces: [] }),
      async setWorkspaceDeleted({ workspaceId, deleted }) {
        if (deleted) quota.workspaces.delete(workspaceId);
        else quota.workspaces.add(workspaceId);
        return {};
      },
      async getMonth({ workspaceId, month, maxWorkspaces, afterWorkspaceId, shard }) {
        const ofShard = [...settlementByTurn.values()].filter((each) => quota.shardByTurn.get(each.turnId) === shard);
        const all = new Set(ofShard.map((each) => each.workspaceId));
        const sorted = [...all].filter((id) => id > afterWorkspaceId).sort((a, b) => (a < b ? -1 : 1));
        const page = maxWorkspaces > 0 ? sorted.slice(0, maxWorkspaces) : sorted;
        const selected = workspaceId === "" ? page : [workspaceId];
        const workspaces = selected.map((id) => {
          const turns = doneTurnIds(id, month);
          return { workspaceId: id, used: turns.length, ledger: turns.length, ledgerDigest: digestOf(turns) };
        });
        return { month: month || "2026-11", workspaces };
      },
      listEvents: async ({ after }) => ({ next: after }),
      // Empty, because every test's turns are too young to be reconciled.
      listReservations: async () => ({ listedUntil: new Date().toISOString() }),
      getReservations: async ({ turns }) => ({ reservations: reservationsOf(turns) }),
      async adjustTurns({ turns, outcome }) {
        const adjusted = turns.filter(
          ({ turnId }) => ![undefined, outcome].includes(settlementByTurn.get(turnId)?.outcome),
        );
        for (const { turnId } of adjusted) {
          const entry = settlementByTurn.get(turnId);
          if (entry) settlementByTurn.set(turnId, { ...entry, outcome });
        }
        return { adjusted };
      },
      async listUnpaid({ workspaceId }) {
        const day = new Date().toISOString().slice(0, 10);
        const replies = [...settlementByTurn.values()].filter((each) => each.unpaidDay === day);
        const workspaces = Object.entries(Object.groupBy(replies, (each) => each.workspaceId)).map(
          ([id, turns = []]) => ({
            workspaceId: id,
            unpaid: quota.unpaid.get(id) ?? turns.length,
          }),
        );
        return { day, workspaces: workspaces.filter((each) => workspaceId === "" || each.workspaceId === workspaceId) };
      },
      async correctUnpaid({ workspaceId, unpaid }) {
        quota.unpaid.set(workspaceId, unpaid);
        return { corrected: true };
      },
      listMonths: async () => ({ months: quota.months }),
      async closeMonth({ month, used }) {
        const found = quota.months.find((each) => each.month === month);
        if (found === undefined || found.used !== used)
          throw new RpcError(status.FAILED_PRECONDITION, "month_changed", "the month's usage is not what was compared");
        found.closedAt ||= new Date().toISOString();
        return {};
      },
      async *listMonthTurns({ workspaceId, month }) {
        yield { counted: doneTurnIds(workspaceId, month) };
      },
    },
    async (_context, next) => {
      if (quota.isUnavailable) throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
      await next();
    },
  );
  quota.target = `127.0.0.1:${await listen(server, port)}`;
  return quota;
}

/** Computes a digest as quota does: XORs the first 64 bits of each turn ID's MD5 hash. */
function digestOf(turnIds: readonly string[]): bigint {
  return turnIds.reduce((digest, id) => digest ^ createHash("md5").update(id).digest().readBigInt64BE(), 0n);
}
