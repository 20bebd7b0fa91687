import { run } from "@parley/service-kit";
import { readConfig } from "./config.ts";
import { start } from "./server.ts";

await run("edge", readConfig, start);
