import { runMigrations } from "@parley/service-kit";
import { migrateTarget } from "./migrate-target.ts";

await runMigrations(migrateTarget);
