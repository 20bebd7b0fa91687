import { runMigrations } from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { readMigrateConfig } from "./config.ts";

await runMigrations(readMigrateConfig, { schema: "llm", role: "parley_llm", migrations });
