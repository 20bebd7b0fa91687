import { runMigrations } from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { readMigrateConfig } from "./config.ts";

await runMigrations(readMigrateConfig, { schema: "quota", role: "parley_quota", migrations });
