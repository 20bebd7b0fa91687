import type { Migration } from "@parley/service-kit";
import * as initialSchema from "./0001_books.ts";
import * as settledAt from "./0002_settled_at.ts";

/** Every migration of the quota schema, oldest first. */
export const migrations: readonly Migration[] = [initialSchema, settledAt];
