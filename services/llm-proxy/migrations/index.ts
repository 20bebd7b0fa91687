import type { Migration } from "@parley/service-kit";
import * as calls from "./0001_calls.ts";
import * as callDetails from "./0002_call_details.ts";
import * as callsByMonth from "./0003_calls_by_month.ts";
import * as callMonth from "./0004_call_month.ts";
import * as callsByTurnMonth from "./0005_calls_by_turn_month.ts";
import * as finishDetails from "./0006_finish_details.ts";
import * as changes from "./0007_changes.ts";

/** Oldest first. */
export const migrations: readonly Migration[] = [
  calls,
  callDetails,
  callsByMonth,
  callMonth,
  callsByTurnMonth,
  finishDetails,
  changes,
];
