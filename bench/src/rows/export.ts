import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setInterval as every } from "node:timers/promises";
import { promisify } from "node:util";
import { residentBytes } from "../support/cpu.ts";
import { storeTurns } from "../support/messages.ts";
import { type Stage, setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Figure, Row } from "./row.ts";

const MESSAGES = 100_000;
const GOAL = 0.5;
const GOAL_MB = 32;
const MB = 1024 * 1024;

type Run = { bytes: number; seconds: number };

/** A long transcript through the edge, against the database's own client. */
export const exportRow: Row = {
  name: "export",
  about: `MB/s of an export of ${MESSAGES.toLocaleString("en")} messages ÷ psql's \\copy of the same rows as JSON`,
  inTheWay:
    "psql writes rows as they come; an export is one document, checked, paced by its reader and carried over two hops",
  async run({ rounds, scale }, progress) {
    const hasPsql = await promisify(execFile)("psql", ["--version"]).then(
      () => true,
      () => false,
    );
    if (!hasPsql) return [missing("psql is not here (Debian: postgresql-client)")];
    const stage = await setStage("tokens-100");
    try {
      const sessionId = randomUUID();
      const { workspaceId } = stage.tenant;
      const turns = (MESSAGES * scale) / 2;
      await storeTurns(stage.system.database.url, { workspaceId, sessionId, turns });
      // The first one makes room; what a process has taken once stays with it.
      await download(stage, sessionId);
      const ours: Run[] = [];
      const theirs: Run[] = [];
      const grown: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        theirs.push(await copy(stage, sessionId));
        const { grownBytes, ...run } = await watched(stage, () => download(stage, sessionId));
        ours.push(run);
        grown.push(grownBytes / MB);
        progress(
          `round ${round}: ${speed(ours.at(-1)).toFixed(1)} to ${speed(theirs.at(-1)).toFixed(1)} MB/s, memory +${grown.at(-1)?.toFixed(1)} MB`,
        );
      }
      const value = median(ours.map((each, i) => speed(each) / speed(theirs[i])));
      const growth = median(grown);
      return [
        {
          what: "speed",
          value,
          unit: "×",
          goal: `≥ ${GOAL}`,
          met: value >= GOAL,
          detail: `${median(ours.map(speed)).toFixed(1)} MB/s, psql ${median(theirs.map(speed)).toFixed(1)} MB/s, ${((ours[0]?.bytes ?? 0) / MB).toFixed(0)} MB`,
        },
        {
          what: "memory growth, edge and conversation",
          value: growth,
          unit: "MB",
          goal: `≤ ${GOAL_MB} MB`,
          met: growth <= GOAL_MB,
          detail: "resident memory at its highest during an export, less what it was before",
        },
      ];
    } finally {
      await stage.stop();
    }
  },
};

const speed = (run: Run | undefined) => (run === undefined ? Number.NaN : run.bytes / MB / run.seconds);

function missing(detail: string): Figure {
  return { what: "speed", value: Number.NaN, unit: "×", goal: `≥ ${GOAL}`, met: false, detail };
}

async function download({ system, tenant }: Stage, sessionId: string): Promise<Run> {
  const token = await system.sso.token({ workspaceId: tenant.workspaceId });
  const started = performance.now();
  const response = await fetch(`${system.url()}/api/conversations/${sessionId}/export.json`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok || response.body === null) throw new Error(`the export was answered with ${response.status}`);
  let bytes = 0;
  for await (const piece of response.body as AsyncIterable<Uint8Array>) bytes += piece.length;
  return { bytes, seconds: (performance.now() - started) / 1_000 };
}

/** The same rows as JSON, by PostgreSQL's own client. */
async function copy({ system, tenant }: Stage, sessionId: string): Promise<Run> {
  const rows = `SELECT row_to_json(m) FROM conversation.messages m WHERE workspace_id = '${tenant.workspaceId}' AND session_id = '${sessionId}' ORDER BY message_id`;
  const started = performance.now();
  const psql = spawn("psql", ["-X", "-q", "-c", `\\copy (${rows}) TO STDOUT`, system.database.url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let bytes = 0;
  for await (const piece of psql.stdout as AsyncIterable<Buffer>) bytes += piece.length;
  return { bytes, seconds: (performance.now() - started) / 1_000 };
}

async function watched(stage: Stage, run: () => Promise<Run>): Promise<Run & { grownBytes: number }> {
  const [edge = 0, conversation = 0] = stage.servicePids();
  const resident = () => residentBytes(edge) + residentBytes(conversation);
  const before = resident();
  let peak = before;
  const watching = new AbortController();
  const watch = (async () => {
    for await (const _ of every(20, undefined, { signal: watching.signal })) peak = Math.max(peak, resident());
  })().catch((error: unknown) => {
    if (!watching.signal.aborted) throw error;
  });
  const result = await run();
  watching.abort();
  await watch;
  return { ...result, grownBytes: peak - before };
}
