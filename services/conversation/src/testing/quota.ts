import { createHash } from "node:crypto";
import { Server } from "@grpc/grpc-js";
import { implementService, RpcError, status } from "@parley/rpc";
import { QuotaService, type Settlement, SettleOutcome } from "@parley/rpc/quota";
import { listen } from "@parley/service-kit/testing";

export type TestQuota = {
  target: string;
  /** What came in, call by call. */
  calls: Settlement[][];
  /** The outcome that stands of a turn. */
  outcomeOf(turnId: string): SettleOutcome | undefined;
  /** Done turns by workspace. */
  done(workspaceId: string): number;
  /** Loses a turn, as a database that was restored from an older copy does. */
  forget(turnId: string): void;
  /** Whether calls are answered at all. */
  away: boolean;
  /** Turns that are taken in but not named in the answer. */
  silentAbout: Set<string>;
  workspaces: Set<string>;
  /** How many days each workspace keeps its conversations; for ever unless set. */
  retentionDays: Map<string, number>;
  close(): void;
};

/** A quota service with its books in memory, on a real gRPC server. */
export async function startTestQuota(port = 0): Promise<TestQuota> {
  const server = new Server();
  const booked = new Map<string, Settlement>();
  const turnsIn = (workspaceId: string, month?: string) =>
    [...booked.values()]
      .filter(
        (each) =>
          each.outcome === SettleOutcome.DONE &&
          each.workspaceId === workspaceId &&
          (month === undefined || each.month === month),
      )
      .map((each) => each.turnId);
  const quota: TestQuota = {
    target: "",
    calls: [],
    away: false,
    silentAbout: new Set(),
    workspaces: new Set(),
    retentionDays: new Map(),
    outcomeOf: (turnId) => booked.get(turnId)?.outcome,
    done: (workspaceId) => turnsIn(workspaceId).length,
    forget: (turnId) => void booked.delete(turnId),
    close: () => server.forceShutdown(),
  };
  const workspace = (id: string) => ({
    id,
    name: id,
    plan: "pro",
    cap: 5_000,
    createdAt: "2026-01-01T00:00:00Z",
    retentionDays: quota.retentionDays.get(id) ?? 0,
  });
  const unused = () => Promise.reject(new RpcError(status.UNIMPLEMENTED, "unimplemented", "not asked in these tests"));
  implementService(
    server,
    QuotaService,
    {
      reserve: unused,
      getUsage: unused,
      async settle({ settlements }) {
        quota.calls.push(settlements);
        for (const each of settlements) if (!booked.has(each.turnId)) booked.set(each.turnId, each);
        const named = settlements.filter((each) => !quota.silentAbout.has(each.turnId));
        return { settled: named.map(({ workspaceId, turnId, outcome }) => ({ workspaceId, turnId, outcome })) };
      },
      async getWorkspace({ workspaceId }) {
        if (!quota.workspaces.has(workspaceId))
          throw new RpcError(status.NOT_FOUND, "workspace_not_found", "no such workspace");
        return { workspace: workspace(workspaceId) };
      },
      async getMonth({ workspaceId, month }) {
        const known = new Set([...booked.values()].map((each) => each.workspaceId));
        const asked = workspaceId === "" ? [...known] : [workspaceId];
        const workspaces = asked.map((id) => {
          const turns = turnsIn(id, month);
          return { workspaceId: id, used: turns.length, ledger: turns.length, held: 0, ledgerDigest: digestOf(turns) };
        });
        return { month: month || "2026-11", workspaces };
      },
      async *listMonthTurns({ workspaceId, month }) {
        yield { counted: turnsIn(workspaceId, month) };
      },
    },
    async (_context, next) => {
      if (quota.away) throw new RpcError(status.UNAVAILABLE, "unavailable", "away");
      await next();
    },
  );
  quota.target = `127.0.0.1:${await listen(server, port)}`;
  return quota;
}

function digestOf(turnIds: readonly string[]): bigint {
  return turnIds.reduce((digest, id) => digest ^ createHash("md5").update(id).digest().readBigInt64BE(), 0n);
}
