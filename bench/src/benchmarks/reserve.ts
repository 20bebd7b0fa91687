import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeFlags } from "@parley/test-support";
import { INTERNAL_TOKEN } from "../../../tests/system/processes.ts";
import { serviceDatabaseUrl } from "../../../tests/system/system.ts";
import type { QuotaPlan, QuotaResult } from "../load/quota-plan.ts";
import { query } from "../support/sql.ts";
import { median } from "../support/statistics.ts";
import { BENCH_PLAN, startTestbed, type Testbed } from "../support/testbed.ts";
import { atLeast, type Benchmark } from "./benchmark.ts";

const GOAL = 0.5;
const CALLERS = 32;
const POOL = 10;
const TURNS = 4_000;
const VARIANTS = [
  { name: "one hot workspace", workspaces: 1 },
  { name: "1,000 workspaces", workspaces: 1_000 },
];

const callers = fileURLToPath(new URL("../load/quota-callers.ts", import.meta.url));

/** Throughput of the quota service, compared with running its two statements directly. */
export const reserve: Benchmark = {
  name: "reserve",
  about: "Reserve and Settle calls per second by RPC ÷ the same statements with pg in one process",
  limitation: "each statement needs an RPC between two processes",
  async run({ rounds, scale }, progress) {
    const testbed = await startTestbed("tokens-100", { env: { quota: { DATABASE_POOL: String(POOL) } } });
    try {
      const figures = [];
      for (const { name, workspaces } of VARIANTS) {
        const plan = {
          ...basePlan(testbed),
          workspaceIds: await addWorkspaces(testbed, workspaces),
          turns: TURNS * scale,
        };
        const grpc: number[] = [];
        const pg: number[] = [];
        for (let round = 1; round <= rounds; round++) {
          pg.push(await measurePerSecond({ ...plan, by: "pg" }));
          grpc.push(await measurePerSecond({ ...plan, by: "grpc" }));
          progress(`${name}, round ${round}: ${grpc.at(-1)?.toFixed(0)} to ${pg.at(-1)?.toFixed(0)} turns per second`);
        }
        const value = median(grpc.map((each, i) => each / (pg[i] ?? Number.NaN)));
        const detail = `turns per second: by RPC ${median(grpc).toFixed(0)}, by pg ${median(pg).toFixed(0)}`;
        figures.push(atLeast(GOAL, { what: name, value, unit: "×", detail }));
      }
      return figures;
    } finally {
      await testbed.stop();
    }
  },
};

function basePlan({ system }: Testbed) {
  return {
    target: `127.0.0.1:${system.quota.port}`,
    internalToken: INTERNAL_TOKEN,
    databaseUrl: serviceDatabaseUrl(system.database.url, "quota"),
    databasePool: POOL,
    callers: CALLERS,
  };
}

async function addWorkspaces({ system }: Testbed, count: number): Promise<string[]> {
  const rows = await query<{ id: string }>(
    system.database.url,
    `INSERT INTO quota.workspaces (workspace_id, name, plan)
     SELECT 'ws_' || gen_random_uuid(), 'Bench', $1 FROM generate_series(1, $2) RETURNING workspace_id AS id`,
    [BENCH_PLAN, count],
  );
  return rows.map(({ id }) => id);
}

async function measurePerSecond(plan: QuotaPlan): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, callers, JSON.stringify(plan)], {
    maxBuffer: 1024 * 1024,
  });
  return (JSON.parse(stdout) as QuotaResult).perSecond;
}
