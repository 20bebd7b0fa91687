import type { Migration } from "@parley/service-kit";
import * as books from "./0001_books.ts";

/** Every migration of the quota schema, oldest first. */
export const migrations: readonly Migration[] = [books];
