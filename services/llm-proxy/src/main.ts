import { runService } from "@parley/service-kit";
import { readConfig } from "./config.ts";
import { start } from "./server.ts";

await runService("llm-proxy", readConfig, start);
