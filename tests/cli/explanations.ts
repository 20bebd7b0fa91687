import { expect } from "vitest";
import { type ChatFields, chat } from "../system/chat.ts";
import { runCliJson } from "../system/cli.ts";
import type { System, Tenant } from "../system/system.ts";

/** The output of `parley explain --json`. */
export type Explanation = {
  message_id: number;
  turn_id: string;
  status: string;
  error_code: string;
  blocked_reason: string;
  session_id: string;
  wall_ms: number;
  phases: { name: string; ms: number }[];
  close_ms: number | null;
  settle_ms: number | null;
  calls: { outcome: string; attempts: number; failovers: number; tries: Record<string, unknown>[] }[] | null;
  knowledge: { chunk_id: number; source: string; heading: string }[];
  quota: { state: string; held_at: string; settled_at: string; counted_at: string } | null;
  missing: { service: string; why: string }[];
};

export const phaseMs = ({ phases }: Explanation, name: string) => phases.find((phase) => phase.name === name)?.ms ?? 0;

/** The numbers of phases and model calls that are stored for a turn. `settledAt` is empty until the turn is settled. */
export type TurnRecords = { phaseCount: number; settledAt: string; callCount: number };

export const isSettled = ({ settledAt }: TurnRecords) => settledAt !== "";
export const isSettledAndLogged = (records: TurnRecords) => isSettled(records) && records.callCount > 0;

export function createExplainer(shared: () => { system: System; env: Record<string, string> }) {
  const explain = (messageId: unknown, { workspaceId }: Tenant) =>
    runCliJson<Explanation>(["explain", String(messageId), "--workspace", workspaceId], shared().env);

  async function readRecords({ workspaceId }: Tenant, messageId: unknown): Promise<TurnRecords> {
    const { turn } = await shared().system.admin.turns.getTurn({ workspaceId, messageId: BigInt(Number(messageId)) });
    const turnKey = { workspaceId, turnId: turn?.turnId ?? "" };
    const [{ entry }, { calls }] = await Promise.all([
      shared().system.admin.usageAccounting.getTurnEntry(turnKey),
      shared().system.admin.callLog.listCalls(turnKey),
    ]);
    return { phaseCount: turn?.phases.length ?? 0, settledAt: entry?.settledAt ?? "", callCount: calls.length };
  }

  /** Waits until a reply's records satisfy `until`. Then runs `parley explain` and checks that the phases add up to the wall time. */
  async function explainTurn(tenant: Tenant, messageId: unknown, until?: (records: TurnRecords) => boolean) {
    if (until)
      await expect.poll(async () => until(await readRecords(tenant, messageId)), { timeout: 30_000 }).toBe(true);
    const explanation = await explain(messageId, tenant);
    const sum = explanation.phases.reduce((total, phase) => total + phase.ms, 0);
    expect(Math.abs(sum - explanation.wall_ms)).toBeLessThanOrEqual(2);
    expect(new Set(explanation.phases.map(({ name }) => name)).size).toBe(explanation.phases.length);
    return explanation;
  }

  async function chatAndExplain(
    tenant: Tenant,
    { fields = {}, until = isSettled }: { fields?: ChatFields; until?: typeof isSettled } = {},
  ) {
    const startedAt = performance.now();
    const result = await chat(shared().system.url(), tenant, fields);
    const elapsedMs = performance.now() - startedAt;
    const explanation = await explainTurn(tenant, result.meta?.message_id, until);
    expect(explanation.wall_ms).toBe(result.done?.latency_ms);
    expect(explanation.wall_ms).toBeLessThanOrEqual(elapsedMs + 1);
    return { result, explanation };
  }

  return { chatAndExplain, explain, explainTurn };
}
