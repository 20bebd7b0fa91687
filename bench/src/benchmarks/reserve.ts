import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeFlags, queryRows } from "@parley/test-support";
import { INTERNAL_TOKEN } from "../../../tests/system/processes.ts";
import { serviceDatabaseUrl } from "../../../tests/system/system.ts";
import type { QuotaLoadOptions, QuotaLoadResult } from "../load/quota-load-options.ts";
import { median } from "../support/statistics.ts";
import { BENCH_PLAN, startTestbed, type Testbed } from "../support/testbed.ts";
import { atLeast, type Benchmark } from "./benchmark.ts";

/** Smallest accepted ratio of the throughput by RPC to the throughput by SQL. */
const GOAL = 0.5;
const CALLERS = 32;
const POOL_SIZE = 10;
const TURNS = 4_000;
const VARIANTS = [
  { name: "one hot workspace", workspaces: 1 },
  { name: "1,000 workspaces", workspaces: 1_000 },
];

const loadGenerator = fileURLToPath(new URL("../load/quota-load-generator.ts", import.meta.url));

export const reserve: Benchmark = {
  name: "reserve",
  description:
    "turns per second (a Reserve and a Settle each) through RPC ÷ turns per second with the quota service's SQL statements alone",
  hintIfMissed: "each turn needs two RPCs between two processes",
  async run({ rounds, scale }, progress) {
    // This benchmark sends no chats, so the model is not used.
    const testbed = await startTestbed("tokens-100", { env: { quota: { DATABASE_POOL: String(POOL_SIZE) } } });
    try {
      const figures = [];
      for (const { name, workspaces } of VARIANTS) {
        const loadOptions = {
          ...baseOptions(testbed),
          workspaceIds: await addWorkspaces(testbed, workspaces),
          turns: TURNS * scale,
        };
        const grpc: number[] = [];
        const sql: number[] = [];
        for (let round = 1; round <= rounds; round++) {
          sql.push(await measureThroughput({ ...loadOptions, transport: "sql" }));
          grpc.push(await measureThroughput({ ...loadOptions, transport: "grpc" }));
          progress(
            `${name}, round ${round}: by RPC ${grpc.at(-1)?.toFixed(0)}, by SQL ${sql.at(-1)?.toFixed(0)} turns per second`,
          );
        }
        const value = median(grpc.map((each, i) => each / (sql[i] ?? Number.NaN)));
        const detail = `turns per second: by RPC ${median(grpc).toFixed(0)}, by SQL ${median(sql).toFixed(0)}`;
        figures.push(atLeast(GOAL, { what: name, value, unit: "×", detail }));
      }
      return figures;
    } finally {
      await testbed.stop();
    }
  },
};

function baseOptions({ system }: Testbed) {
  return {
    target: `127.0.0.1:${system.quota.port}`,
    internalToken: INTERNAL_TOKEN,
    databaseUrl: serviceDatabaseUrl(system.database.url, "quota"),
    databasePoolSize: POOL_SIZE,
    callers: CALLERS,
  };
}

async function addWorkspaces({ system }: Testbed, count: number): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(
    system.database.url,
    `INSERT INTO quota.workspaces (workspace_id, name, plan)
     SELECT 'ws_' || gen_random_uuid(), 'Bench', $1 FROM generate_series(1, $2) RETURNING workspace_id AS id`,
    [BENCH_PLAN, count],
  );
  return rows.map(({ id }) => id);
}

async function measureThroughput(options: QuotaLoadOptions): Promise<number> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...nodeFlags, loadGenerator, JSON.stringify(options)],
    {
      maxBuffer: 1024 * 1024,
    },
  );
  return (JSON.parse(stdout) as QuotaLoadResult).perSecond;
}
