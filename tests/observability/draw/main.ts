import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startTestPostgres } from "@parley/testing";
import { root } from "../../support/processes.ts";
import { tenFaults } from "../faults.ts";
import { readDashboards } from "../sources.ts";
import { type Stage, startStage, startVisitors } from "../stage.ts";
import { drawDashboard } from "./dashboard.ts";

// Draws the dashboards into docs/operations, from what Prometheus saw of a system under load: visitors of every kind, and amid them a provider
// that fails for a while, a quota service that is gone for a while, and a database that is slow.
const FAULTS = ["provider down", "database slow", "quota service gone"];
const PEACE_MS = 40_000;
const FAULT_MS = 15_000;
const STEP_SECONDS = 2;
const WINDOW = "10s";

const postgres = await startTestPostgres();
const stage = await startStage(postgres.url);
const visitors = startVisitors(stage, { rarity: 20 });
await sleep(15_000);
const from = Math.floor(Date.now() / 1_000);
await befall(stage);
const to = from + Math.floor((Date.now() / 1_000 - from) / STEP_SECONDS) * STEP_SECONDS;
for (const [name, dashboard] of Object.entries(readDashboards())) {
  const svg = await drawDashboard(stage.prometheus, dashboard, { from, to, step: STEP_SECONDS }, WINDOW);
  await writeFile(join(root, `docs/operations/dashboard-${name}.svg`), svg);
}
await visitors.stop();
await stage.stop();
await postgres.stop();

async function befall(on: Stage): Promise<void> {
  const faults = await tenFaults(on);
  await sleep(PEACE_MS);
  for (const fault of faults.filter(({ name }) => FAULTS.includes(name))) {
    const mended = new AbortController();
    await fault.inject(mended.signal);
    await sleep(FAULT_MS);
    mended.abort();
    await fault.mend();
    await sleep(PEACE_MS);
  }
}
