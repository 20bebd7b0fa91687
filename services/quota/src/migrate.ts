import { runMigrations } from "@parley/service-kit/migrations";
import { migrations } from "../migrations/index.ts";
import { APPEND_ONLY_TABLES, ROLE_TIMEOUTS } from "./role.ts";

await runMigrations({
  schema: "quota",
  roleTimeouts: ROLE_TIMEOUTS,
  appendOnlyTables: APPEND_ONLY_TABLES,
  migrations,
});
