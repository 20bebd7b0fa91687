import { runMigrations } from "@parley/service-kit/migrations";
import { migrations } from "../migrations/index.ts";
import { APPEND_ONLY_TABLES } from "./role.ts";

await runMigrations({
  schema: "conversation",
  appendOnlyTables: APPEND_ONLY_TABLES,
  migrations,
});
