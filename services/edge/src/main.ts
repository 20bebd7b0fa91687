import { run } from "@parley/service-kit";
import { readConfig } from "./config.ts";
import { start } from "./start.ts";

await run("edge", readConfig, start);
