import type { Migration } from "@parley/service-kit";
import * as calls from "./0001_calls.ts";

/** Every migration of the llm schema, oldest first. */
export const migrations: readonly Migration[] = [calls];
