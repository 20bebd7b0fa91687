import { runMigrations } from "@parley/service-kit/migrations";
import { migrations } from "../migrations/index.ts";

await runMigrations({ schema: "llm", migrations });
