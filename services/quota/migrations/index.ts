import type { Migration } from "@parley/service-kit";
import * as initialSchema from "./0001_books.ts";
import * as settledAt from "./0002_settled_at.ts";
import * as adjustments from "./0003_adjustments.ts";
import * as reservationsSettled from "./0004_reservations_settled.ts";
import * as planChanges from "./0005_plan_changes.ts";
import * as changes from "./0008_changes.ts";
import * as months from "./0010_months.ts";
import * as usageByMonth from "./0011_usage_by_month.ts";
import * as usageAdjustments from "./0012_usage_adjustments.ts";
import * as deletedWorkspaces from "./0013_deleted_workspaces.ts";
import * as unpaidReplies from "./0014_unpaid_replies.ts";
import * as holdsByClient from "./0015_holds_by_client.ts";
import * as knowledgeLimits from "./0016_knowledge_limits.ts";

/** Every migration of the quota schema, oldest first. No migration has the number 6, 7 or 9. */
export const migrations: readonly Migration[] = [
  initialSchema,
  settledAt,
  adjustments,
  reservationsSettled,
  planChanges,
  changes,
  months,
  usageByMonth,
  usageAdjustments,
  deletedWorkspaces,
  unpaidReplies,
  holdsByClient,
  knowledgeLimits,
];
