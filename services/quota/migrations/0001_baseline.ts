import type { Knex } from "@parley/service-kit";
import { AUDIT_LOG } from "./baseline/audit-log.ts";
import { CREDITS } from "./baseline/credits.ts";
import { EVENTS } from "./baseline/events.ts";
import { USAGE_LEDGER } from "./baseline/ledger.ts";
import { PLANS_AND_WORKSPACES } from "./baseline/plans.ts";
import { PRUNING } from "./baseline/pruning.ts";
import { USAGE } from "./baseline/usage.ts";

export const name = "0001_baseline";

/** Creates the quota schema. A month is the first day of a UTC month. */
export async function up(knex: Knex): Promise<void> {
  for (const sql of [PLANS_AND_WORKSPACES, USAGE, CREDITS, EVENTS, USAGE_LEDGER, PRUNING, AUDIT_LOG])
    await knex.raw(sql);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION quota.delete_expired_audit_log_entries(), quota.prune_void_reservations(interval, integer),
      quota.prune_ledger(text, date, integer), quota.count_client_holds(text, date, bytea),
      quota.reserve_beyond_plan(text, uuid, bytea, integer), quota.charges_differ(text, date, boolean), quota.find_room(text, date), quota.client_share(integer, integer),
      quota.is_usable(quota.credits);
    DROP TRIGGER usage_inserted ON quota.usage;
    DROP TRIGGER usage_changed ON quota.usage;
    DROP TRIGGER workspace_changed ON quota.workspaces;
    DROP FUNCTION quota.on_usage_changed(), quota.on_workspace_changed(), quota.record_usage_events(text, date), quota.lock_events(),
      quota.event_id_of(text, text, date, integer, integer);
    DROP TABLE quota.audit_log, quota.events, quota.credits, quota.ledger_totals, quota.adjustments, quota.ledger, quota.reservations, quota.usage, quota.months,
      quota.plan_changes, quota.workspaces, quota.plans;
  `);
}
