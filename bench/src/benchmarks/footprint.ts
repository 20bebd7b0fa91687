import { queryRows } from "@parley/test-support";
import { POD_HEAPS } from "../../../tests/system/pods.ts";
import { cpuMsWithChildren, residentBytes } from "../support/cpu.ts";
import { type LoadShape, measureLoad, parleyLoad } from "../support/load.ts";
import { readRedisInfo } from "../support/redis.ts";
import { median, sum } from "../support/statistics.ts";
import { readPostmasterPid, startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark } from "./benchmark.ts";

const TURNS = 4_000;
const WARM_UP_TURNS = 400;
const CALLERS = 16;

/** Upper bounds. docs/install/sizing.md states the measured values, which are lower. */
const GOALS = {
  databaseCpuMs: 4,
  storedKb: 4,
  walKb: 16,
  redisCpuMs: 0.5,
  redisKb: 1.5,
  residentMb: 320,
} as const;

const SCHEMAS = ["conversation", "quota", "llm"] as const;
type BySchema = Record<(typeof SCHEMAS)[number], number>;

type Round = Record<"databaseCpuMs" | "walKb" | "redisCpuMs" | "redisKb", number> & {
  storedKb: BySchema;
};

/** All resources of a turn except the services' CPU, which turn-cost measures. */
export const footprint: Benchmark = {
  name: "footprint",
  description:
    "PostgreSQL's and Redis' resources for one 100-token turn, and the memory of each service after the load",
  hintIfMissed: "a turn needs more than docs/install/sizing.md states: update the page",
  async run({ rounds, scale }, progress) {
    const testbed = await startTestbed("tokens-100", { env: POD_HEAPS });
    try {
      const emptyRedisBytes = (await readRedisInfo(testbed.redisUrl))("used_memory");
      const shape = { callers: CALLERS, turns: Math.ceil(TURNS * scale), warmUpTurns: 0 };
      await measureLoad(parleyLoad(testbed, { ...shape, turns: WARM_UP_TURNS }), []);
      const measured: Round[] = [];
      for (let round = 1; round <= rounds; round++) {
        const result = await measureRound(testbed, emptyRedisBytes, shape);
        measured.push(result);
        progress(
          `round ${round}: PostgreSQL ${result.databaseCpuMs.toFixed(2)} ms, ${sum(Object.values(result.storedKb)).toFixed(2)} KB stored, ${result.walKb.toFixed(1)} KB of WAL; Redis ${result.redisCpuMs.toFixed(3)} ms, ${result.redisKb.toFixed(3)} KB per client address`,
        );
      }
      const medianOf = (name: Exclude<keyof Round, "storedKb">) => median(measured.map((round) => round[name]));
      const stored = mapSchemas((schema) => median(measured.map(({ storedKb }) => storedKb[schema])));
      const bySchema = Object.entries(stored)
        .map(([schema, kb]) => `${schema} ${kb.toFixed(2)}`)
        .join(", ");
      const [turnText] = await queryRows<{ bytes: number }>(
        testbed.system.database.url,
        "SELECT avg(bytes)::float8 AS bytes FROM (SELECT sum(octet_length(content)) AS bytes FROM conversation.messages GROUP BY turn_id) t",
      );
      const resident = testbed.servicePids().map((pid) => residentBytes(pid) / 1024 / 1024);
      const [edge = 0, conversation = 0, quota = 0, llm = 0] = resident;
      const byService = `edge ${edge.toFixed(0)}, conversation ${conversation.toFixed(0)}, quota ${quota.toFixed(0)}, llm-proxy ${llm.toFixed(0)}`;
      return [
        atMost(GOALS.databaseCpuMs, {
          what: "CPU of PostgreSQL per turn",
          value: medianOf("databaseCpuMs"),
          unit: "ms",
          detail: "all its processes",
        }),
        atMost(GOALS.storedKb, {
          what: "stored per turn",
          value: sum(Object.values(stored)),
          unit: "KB",
          detail: `tables and indexes: ${bySchema}; ${turnText?.bytes.toFixed(0)} bytes of message text`,
        }),
        atMost(GOALS.walKb, {
          what: "write-ahead log per turn",
          value: medianOf("walKb"),
          unit: "KB",
          detail: "including full-page images after a checkpoint",
        }),
        atMost(GOALS.redisCpuMs, {
          what: "CPU of Redis per turn",
          value: medianOf("redisCpuMs"),
          unit: "ms",
          detail: "one script per turn",
        }),
        atMost(GOALS.redisKb, {
          what: "memory of Redis per client address",
          value: medianOf("redisKb"),
          unit: "KB",
          detail: "for each address with a request in the last minute",
        }),
        atMost(GOALS.residentMb, {
          what: "resident memory",
          value: Math.max(...resident),
          unit: "MB",
          detail: `after the load: ${byService}`,
        }),
      ];
    } finally {
      await testbed.stop();
    }
  },
};

async function measureRound(testbed: Testbed, emptyRedisBytes: number, shape: LoadShape): Promise<Round> {
  const { redisUrl } = testbed;
  const { url } = testbed.system.database;
  const postmasterPid = await readPostmasterPid(url);
  const storedBefore = await readStoredBytes(url);
  const before = await readCounters(url, postmasterPid, redisUrl);
  await measureLoad(parleyLoad(testbed, shape), []);
  const after = await readCounters(url, postmasterPid, redisUrl);
  const storedAfter = await readStoredBytes(url);
  const perTurn = (name: keyof typeof before) => (after[name] - before[name]) / shape.turns;
  return {
    databaseCpuMs: perTurn("databaseCpuMs"),
    walKb: perTurn("walBytes") / 1024,
    redisCpuMs: perTurn("redisCpuMs"),
    redisKb: (after.redisBytes - emptyRedisBytes) / 1024 / after.redisKeys,
    storedKb: mapSchemas((schema) => (storedAfter[schema] - storedBefore[schema]) / 1024 / shape.turns),
  };
}

/** CPU times and WAL are running totals. Redis's memory and number of keys are current values. */
async function readCounters(url: string, postmasterPid: number, redisUrl: string) {
  const [wal] = await queryRows<{ bytes: number }>(
    url,
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes",
  );
  const redis = await readRedisInfo(redisUrl);
  return {
    databaseCpuMs: cpuMsWithChildren(postmasterPid),
    walBytes: wal?.bytes ?? Number.NaN,
    redisCpuMs: (redis("used_cpu_user") + redis("used_cpu_sys")) * 1_000,
    redisBytes: redis("used_memory"),
    redisKeys: redis("keys"),
  };
}

function mapSchemas(compute: (schema: keyof BySchema) => number): BySchema {
  return Object.fromEntries(SCHEMAS.map((schema) => [schema, compute(schema)])) as BySchema;
}

/** Returns the bytes of each schema's tables and indexes. Runs VACUUM first, as autovacuum would in an installation. */
async function readStoredBytes(url: string): Promise<BySchema> {
  await queryRows(url, "VACUUM");
  const stored = await queryRows<{ schema: keyof BySchema; bytes: number }>(
    url,
    `SELECT nspname AS schema,
            (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind = 'r')::float8 AS bytes
     FROM pg_namespace n WHERE nspname = ANY ($1)`,
    [SCHEMAS],
  );
  return Object.fromEntries(stored.map(({ schema, bytes }) => [schema, bytes])) as BySchema;
}
