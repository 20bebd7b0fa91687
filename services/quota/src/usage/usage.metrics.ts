import { RESERVE_STATUSES, type ReserveStatusName } from "@parley/rpc/outcomes";
import {
  Counter,
  createCachedMeasurement,
  Gauge,
  type Logger,
  onEachShard,
  type Registry,
  type Shard,
  startAtZero,
} from "@parley/service-kit";
import { readUnpaidToday } from "../unpaid/index.ts";
import { type PlanUsage, readCurrentUsage } from "./current-usage.store.ts";

/** A workspace that has used this share of its cap gets a series of its own. */
const NEAR_CAP_SHARE = 0.8;
/** Bounds the number of series with the label `workspace`. */
const MAX_NAMED_WORKSPACES = 200;
/** Bounds the number of series of the workspaces that have used most. */
const MAX_TOP_WORKSPACES = 10;
const CACHE_MS = 5_000;

const BY_PLAN: readonly [name: string, help: string, field: Exclude<keyof PlanUsage, "plan">][] = [
  ["parley_quota_workspaces", "Workspaces by plan.", "workspaces"],
  ["parley_quota_cap_messages", "Sum of the monthly caps of a plan's workspaces.", "cap"],
  ["parley_quota_used_messages", "Messages that a plan's workspaces have used this month.", "used"],
  ["parley_quota_credit_used_messages", "Messages of this month that were charged to credits, by plan.", "creditUsed"],
  ["parley_quota_overage_used_messages", "Messages of this month that are overage, by plan.", "overageUsed"],
  ["parley_quota_held_messages", "Messages held for unsettled turns, by plan.", "held"],
  ["parley_quota_workspaces_near_cap", "Workspaces that have used 80 % of their cap or more, by plan.", "near"],
  ["parley_quota_workspaces_at_cap", "Workspaces that have used their whole cap, by plan.", "full"],
];

/** Registers gauges of the current month's usage. Every replica reports the same values, so queries must not sum over replicas. */
export function registerUsageGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  const registers = [registry];
  const read = createCachedMeasurement(
    async () => {
      const limits = { share: NEAR_CAP_SHARE, limit: MAX_NAMED_WORKSPACES, topLimit: MAX_TOP_WORKSPACES };
      const usages = await onEachShard(shards, (database) => readCurrentUsage(database, limits));
      const near = usages.flatMap(({ nearWorkspaces }) => nearWorkspaces);
      const top = usages.flatMap(({ topWorkspaces }) => topWorkspaces);
      return {
        plans: usages.flatMap(({ plans }) => plans),
        nearWorkspaces: takeHighest(near, ({ ratio }) => ratio, MAX_NAMED_WORKSPACES),
        topWorkspaces: takeHighest(top, ({ used }) => used, MAX_TOP_WORKSPACES),
      };
    },
    { name: "quota usage", cacheMs: CACHE_MS },
    log,
  );
  for (const [name, help, field] of BY_PLAN) {
    new Gauge({
      name,
      help,
      labelNames: ["plan"],
      registers,
      async collect() {
        const usage = await read();
        this.reset();
        // Sums over the shards.
        for (const planUsage of usage?.plans ?? []) this.inc({ plan: planUsage.plan }, planUsage[field]);
      },
    });
  }
  registerUnpaidGauges(registry, shards, log);
  new Gauge({
    name: "parley_quota_workspace_used_ratio",
    help: `Share of the monthly cap that a workspace has used. Reports only workspaces at 0.8 or more, and at most the ${MAX_NAMED_WORKSPACES} highest shares.`,
    labelNames: ["workspace", "plan"],
    registers,
    async collect() {
      const usage = await read();
      this.reset();
      for (const { workspaceId, plan, ratio } of usage?.nearWorkspaces ?? [])
        this.set({ workspace: workspaceId, plan }, ratio);
    },
  });
  new Gauge({
    name: "parley_quota_workspace_used_messages",
    help: `Messages that a workspace has used this month. Reports only the ${MAX_TOP_WORKSPACES} workspaces that have used most.`,
    labelNames: ["workspace", "plan"],
    registers,
    async collect() {
      const usage = await read();
      this.reset();
      for (const { workspaceId, plan, used } of usage?.topWorkspaces ?? [])
        this.set({ workspace: workspaceId, plan }, used);
    },
  });
}

function registerUnpaidGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  const registers = [registry];
  const read = createCachedMeasurement(
    async () => {
      const limits = { share: NEAR_CAP_SHARE, limit: MAX_NAMED_WORKSPACES };
      const shardsUnpaid = await onEachShard(shards, (database) => readUnpaidToday(database, limits));
      const near = shardsUnpaid.flatMap(({ nearWorkspaces }) => nearWorkspaces);
      return {
        plans: shardsUnpaid.flatMap(({ plans }) => plans),
        nearWorkspaces: takeHighest(near, ({ ratio }) => ratio, MAX_NAMED_WORKSPACES),
      };
    },
    { name: "unpaid replies", cacheMs: CACHE_MS },
    log,
  );
  new Gauge({
    name: "parley_quota_unpaid_replies",
    help: "Unpaid replies of the current UTC day, by plan.",
    labelNames: ["plan"],
    registers,
    async collect() {
      const unpaid = await read();
      this.reset();
      for (const each of unpaid?.plans ?? []) this.inc({ plan: each.plan }, each.unpaid);
    },
  });
  new Gauge({
    name: "parley_quota_workspace_unpaid_ratio",
    help: `Share of a workspace's bound on unpaid replies of the current UTC day that is used. Reports only workspaces at 0.8 or more, and at most the ${MAX_NAMED_WORKSPACES} highest shares.`,
    labelNames: ["workspace", "plan"],
    registers,
    async collect() {
      const unpaid = await read();
      this.reset();
      for (const { workspaceId, plan, ratio } of unpaid?.nearWorkspaces ?? [])
        this.set({ workspace: workspaceId, plan }, ratio);
    },
  });
}

function takeHighest<T>(rows: readonly T[], sizeOf: (row: T) => number, limit: number): T[] {
  return rows.toSorted((a, b) => sizeOf(b) - sizeOf(a)).slice(0, limit);
}

export type MisroutedCounter = Counter<"shard">;

export function createMisroutedCounter(registry: Registry): MisroutedCounter {
  return new Counter({
    name: "parley_settle_wrong_shard_total",
    help: "With several shards: refused settlements of workspaces that are on another shard than the Settle call names, by the named shard.",
    labelNames: ["shard"],
    registers: [registry],
  });
}

export type ReservationCounter = { count(plan: string, status: ReserveStatusName): void };

/** The series of a plan start at its first call, with every status at 0, so that `increase` sees the first refusal. */
export function createReservationCounter(registry: Registry): ReservationCounter {
  const counter = new Counter({
    name: "parley_quota_reservations_total",
    help: "Reserve calls by plan and status: held, or refused because of exceeded (the cap), settled (the turn is already settled), unpaid_limit (too many unpaid replies today) or client_limit (the client holds its share).",
    labelNames: ["plan", "status"],
    registers: [registry],
  });
  const startedPlans = new Set<string>();
  return {
    count(plan, status) {
      if (!startedPlans.has(plan)) startAtZero(counter, { plan: [plan], status: Object.keys(RESERVE_STATUSES) });
      startedPlans.add(plan);
      counter.inc({ plan, status });
    },
  };
}
