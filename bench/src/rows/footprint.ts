import { familyCpuMs, residentBytes } from "../support/cpu.ts";
import { measure, parleyPlan, type Shape } from "../support/load.ts";
import { redisInfo } from "../support/redis.ts";
import { query } from "../support/sql.ts";
import { type Stage, setStage } from "../support/stage.ts";
import { median, sum } from "../support/statistics.ts";
import type { Figure, Row } from "./row.ts";

const TURNS = 4_000;
const WARM_UP = 400;
const CALLERS = 16;

/** What each figure should stay below; the sizes in docs/install/sizing.md leave room above them. */
const GOALS = {
  databaseMs: 4,
  storedKb: 4,
  logKb: 16,
  redisMs: 0.5,
  redisKb: 1.5,
  residentMb: 320,
} as const;

/** Half of what the chart limits a pod to is what Node takes for its heap there; on a large machine it would take what it can get. */
const heap = (megabytes: number) => ({ NODE_OPTIONS: `--max-old-space-size=${megabytes}` });
const IN_PODS = { edge: heap(384), conversation: heap(256), quota: heap(192), "llm-proxy": heap(256) };

type Round = Record<"databaseMs" | "logKb" | "redisMs" | "redisKb", number> & {
  /** Of each schema. */
  storedKb: number[];
};

/** What a turn takes of everything but the four services' CPU: what docs/install/sizing.md is made from, with turn-cost and held. */
export const footprint: Row = {
  name: "footprint",
  about: "what one 100-token turn takes of PostgreSQL and Redis, and the memory of each service under load",
  inTheWay: "docs/install/sizing.md must say what a turn takes now",
  async run({ rounds, scale }, progress) {
    const stage = await setStage("tokens-100", { env: IN_PODS });
    try {
      const emptyBytes = (await redisInfo(stage.redisUrl))("used_memory");
      const shape = { callers: CALLERS, turns: Math.ceil(TURNS * scale), warmUp: 0 };
      await measure(parleyPlan(stage, { ...shape, turns: WARM_UP }), []);
      const measured: Round[] = [];
      for (let round = 1; round <= rounds; round++) {
        const one = await measureRound(stage, emptyBytes, shape);
        measured.push(one);
        progress(
          `round ${round}: PostgreSQL ${one.databaseMs.toFixed(2)} ms, ${sum(one.storedKb).toFixed(2)} KB stored, ${one.logKb.toFixed(1)} KB of log; Redis ${one.redisMs.toFixed(3)} ms, ${one.redisKb.toFixed(3)} KB an address`,
        );
      }
      const of = (name: Exclude<keyof Round, "storedKb">) => median(measured.map((round) => round[name]));
      const stored = SCHEMAS.map((_, i) => median(measured.map(({ storedKb }) => storedKb[i] ?? Number.NaN)));
      const bySchema = SCHEMAS.map((schema, i) => `${schema} ${stored[i]?.toFixed(2)}`).join(", ");
      const [text] = await query<{ n: number }>(
        stage.system.database.url,
        "SELECT avg(bytes)::float8 AS n FROM (SELECT sum(octet_length(content)) AS bytes FROM conversation.messages GROUP BY turn_id) t",
      );
      const resident = stage.servicePids().map((pid) => residentBytes(pid) / 1024 / 1024);
      const [edge = 0, conversation = 0, quota = 0, llm = 0] = resident;
      const each = `edge ${edge.toFixed(0)}, conversation ${conversation.toFixed(0)}, quota ${quota.toFixed(0)}, llm-proxy ${llm.toFixed(0)}`;
      return [
        figure("CPU of PostgreSQL a turn", of("databaseMs"), "ms", GOALS.databaseMs, "all its processes"),
        figure(
          "stored a turn",
          sum(stored),
          "KB",
          GOALS.storedKb,
          `tables and indexes: ${bySchema}; ${text?.n.toFixed(0)} bytes of it are what was said`,
        ),
        figure(
          "write-ahead log a turn",
          of("logKb"),
          "KB",
          GOALS.logKb,
          "with the full pages that follow a checkpoint",
        ),
        figure("CPU of Redis a turn", of("redisMs"), "ms", GOALS.redisMs, "one script a turn"),
        figure(
          "Redis' memory an address",
          of("redisKb"),
          "KB",
          GOALS.redisKb,
          "of those that asked in the last minute",
        ),
        figure("resident memory", Math.max(...resident), "MB", GOALS.residentMb, `after the load: ${each}`),
      ];
    } finally {
      await stage.stop();
    }
  },
};

function figure(what: string, value: number, unit: string, goal: number, detail: string): Figure {
  return { what, value, unit, goal: `≤ ${goal} ${unit}`, met: value <= goal, detail };
}

async function measureRound(stage: Stage, emptyBytes: number, shape: Shape): Promise<Round> {
  const { redisUrl } = stage;
  const { url } = stage.system.database;
  const server = await serverPid(url);
  const storedBefore = await storedBytes(url);
  const before = await counters(url, server, redisUrl);
  await measure(parleyPlan(stage, shape), []);
  const after = await counters(url, server, redisUrl);
  const aTurn = (name: keyof typeof before) => (after[name] - before[name]) / shape.turns;
  return {
    databaseMs: aTurn("databaseMs"),
    logKb: aTurn("logBytes") / 1024,
    redisMs: aTurn("redisMs"),
    redisKb: (after.redisBytes - emptyBytes) / 1024 / after.redisKeys,
    storedKb: (await storedBytes(url)).map((bytes, i) => (bytes - (storedBefore[i] ?? 0)) / 1024 / shape.turns),
  };
}

async function counters(url: string, server: number, redisUrl: string) {
  const [log] = await query<{ bytes: number }>(
    url,
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes",
  );
  const redis = await redisInfo(redisUrl);
  return {
    databaseMs: familyCpuMs(server),
    logBytes: log?.bytes ?? Number.NaN,
    redisMs: (redis("used_cpu_user") + redis("used_cpu_sys")) * 1_000,
    redisBytes: redis("used_memory"),
    redisKeys: redis("keys"),
  };
}

async function serverPid(url: string): Promise<number> {
  const [file] = await query<{ text: string }>(url, "SELECT pg_read_file('postmaster.pid') AS text");
  return Number(file?.text.split("\n")[0]);
}

const SCHEMAS = ["conversation", "quota", "llm"] as const;

/** Each schema's tables and indexes, with the room of dead rows given back to later ones, as autovacuum leaves it. */
async function storedBytes(url: string): Promise<number[]> {
  await query(url, "VACUUM");
  const stored = await query<{ bytes: number }>(
    url,
    `SELECT (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind = 'r')::float8 AS bytes
     FROM unnest($1::text[]) WITH ORDINALITY AS schema (name, place) JOIN pg_namespace n ON n.nspname = name ORDER BY place`,
    [SCHEMAS],
  );
  return stored.map(({ bytes }) => bytes);
}
