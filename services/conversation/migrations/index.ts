import type { Migration } from "@parley/service-kit";
import * as baseline from "./0001_baseline.ts";

/** Every migration of the conversation schema, oldest first. */
export const migrations: readonly Migration[] = [baseline];
