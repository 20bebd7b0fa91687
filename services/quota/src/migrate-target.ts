import type { MigrateTarget } from "@parley/service-kit";
import { migrations } from "../migrations/index.ts";
import { readMigrateConfig } from "./config.ts";

export const migrateTarget: MigrateTarget = {
  readConfig: readMigrateConfig,
  schema: "quota",
  role: "parley_quota",
  migrations,
};
