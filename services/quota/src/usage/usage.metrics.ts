import { Counter, createMeasurement, type Database, Gauge, type Logger, type Registry } from "@parley/service-kit";
import { type PlanStanding, readStanding } from "./current-usage.store.ts";

/** From this share of its cap on a workspace is named. */
const NEAR_SHARE = 0.8;
/** However many there are: a label's values must stay bounded. */
const MAX_NAMED = 200;
const EVERY_MS = 5_000;

const BY_PLAN: readonly [name: string, help: string, field: Exclude<keyof PlanStanding, "plan">][] = [
  ["parley_quota_workspaces", "Workspaces by plan.", "workspaces"],
  ["parley_quota_cap_messages", "Messages that the workspaces of a plan may use this month.", "cap"],
  ["parley_quota_used_messages", "Messages that the workspaces of a plan have used this month.", "used"],
  ["parley_quota_held_messages", "Messages held for turns that have not ended, by plan.", "held"],
  ["parley_quota_workspaces_near_cap", "Workspaces that have used 80 % of their cap or more, by plan.", "near"],
  ["parley_quota_workspaces_at_cap", "Workspaces that have used their whole cap, by plan.", "full"],
];

/** How the quota is used. Every replica measures the same books, so their series are not to be added up. */
export function usageGauges(registry: Registry, database: Database, log: Logger): void {
  const registers = [registry];
  const read = createMeasurement(
    () => readStanding(database, { share: NEAR_SHARE, limit: MAX_NAMED }),
    { name: "how the quota is used", everyMs: EVERY_MS },
    log,
  );
  for (const [name, help, field] of BY_PLAN) {
    new Gauge({
      name,
      help,
      labelNames: ["plan"],
      registers,
      async collect() {
        const standing = await read();
        this.reset();
        for (const each of standing?.plans ?? []) this.set({ plan: each.plan }, each[field]);
      },
    });
  }
  new Gauge({
    name: "parley_quota_workspace_used_ratio",
    help: `Share of its cap that a workspace has used this month; only from 0.8 on, and the first ${MAX_NAMED} of them.`,
    labelNames: ["workspace", "plan"],
    registers,
    async collect() {
      const standing = await read();
      this.reset();
      for (const { workspaceId, plan, ratio } of standing?.near ?? [])
        this.set({ workspace: workspaceId, plan }, ratio);
    },
  });
}

export type ReservationCounter = Counter<"plan" | "status">;

export function reservationCounter(registry: Registry): ReservationCounter {
  return new Counter({
    name: "parley_quota_reservations_total",
    help: "Messages asked for, by plan and answer: held, exceeded (refused), or settled (the turn had ended already).",
    labelNames: ["plan", "status"],
    registers: [registry],
  });
}
