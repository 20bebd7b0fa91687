import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { measurePeak, residentBytes } from "../support/cpu.ts";
import { storeTurns } from "../support/messages.ts";
import { copyWithPsql, type Transfer } from "../support/psql.ts";
import { median } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atLeast, atMost, type Benchmark } from "./benchmark.ts";

const MESSAGES = 100_000;
/** Goal for the export's speed ÷ psql's speed. */
const MIN_RATIO = 0.5;
const MAX_MEMORY_GROWTH_MB = 32;
const MB = 1024 * 1024;
const SAMPLE_INTERVAL_MS = 20;

export const exportSession: Benchmark = {
  name: "export",
  description: `speed of an export of ${MESSAGES.toLocaleString("en")} messages ÷ speed of psql's \\copy of the same rows as JSON`,
  hintIfMissed:
    "psql writes rows as they arrive; an export passes through two services that check access, build one JSON document and apply backpressure",
  async run({ rounds, scale }, progress) {
    const hasPsql = await promisify(execFile)("psql", ["--version"]).then(
      () => true,
      () => false,
    );
    if (!hasPsql) {
      const detail = "psql is not installed (Debian: postgresql-client)";
      return [atLeast(MIN_RATIO, { what: "speed", value: Number.NaN, unit: "×", detail })];
    }
    // This benchmark sends no chats, so the model is not used.
    const testbed = await startTestbed("tokens-100");
    try {
      const sessionId = randomUUID();
      const { workspaceId } = testbed.tenant;
      const turns = (MESSAGES * scale) / 2;
      await storeTurns(testbed.system.database.url, { workspaceId, sessionId, turns });
      // The first export is not measured, because it grows the processes' heaps, which do not shrink again.
      await download(testbed, sessionId);
      const exports: Transfer[] = [];
      const copies: Transfer[] = [];
      const growths: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        copies.push(await copyMessages(testbed, sessionId));
        const { growthBytes, ...transfer } = await measureGrowth(testbed, () => download(testbed, sessionId));
        exports.push(transfer);
        growths.push(growthBytes / MB);
        progress(
          `round ${round}: export ${megabytesPerSecond(exports.at(-1)).toFixed(1)} MB/s, psql ${megabytesPerSecond(copies.at(-1)).toFixed(1)} MB/s, memory +${growths.at(-1)?.toFixed(1)} MB`,
        );
      }
      const value = median(exports.map((each, i) => megabytesPerSecond(each) / megabytesPerSecond(copies[i])));
      return [
        atLeast(MIN_RATIO, {
          what: "speed",
          value,
          unit: "×",
          detail: `${median(exports.map(megabytesPerSecond)).toFixed(1)} MB/s, psql ${median(copies.map(megabytesPerSecond)).toFixed(1)} MB/s, ${((exports[0]?.bytes ?? 0) / MB).toFixed(0)} MB`,
        }),
        atMost(MAX_MEMORY_GROWTH_MB, {
          what: "memory growth, edge and conversation",
          value: median(growths),
          unit: "MB",
          detail: "peak resident memory during an export minus resident memory before it",
        }),
      ];
    } finally {
      await testbed.stop();
    }
  },
};

const megabytesPerSecond = (transfer: Transfer | undefined) =>
  transfer === undefined ? Number.NaN : transfer.bytes / MB / transfer.seconds;

async function download({ system, tenant }: Testbed, sessionId: string): Promise<Transfer> {
  const token = await system.sso.token({ workspaceId: tenant.workspaceId });
  const started = performance.now();
  const response = await fetch(`${system.url()}/api/conversations/${sessionId}/export.json`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok || response.body === null) throw new Error(`the export returned status ${response.status}`);
  let bytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) bytes += chunk.length;
  return { bytes, seconds: (performance.now() - started) / 1_000 };
}

function copyMessages({ system, tenant }: Testbed, sessionId: string): Promise<Transfer> {
  const where = `workspace_id = '${tenant.workspaceId}' AND session_id = '${sessionId}'`;
  return copyWithPsql(
    system.database.url,
    `SELECT row_to_json(m) FROM conversation.messages m WHERE ${where} ORDER BY message_id`,
  );
}

/** Measures how much the memory of the edge and conversation processes grows during a transfer. */
async function measureGrowth(
  testbed: Testbed,
  run: () => Promise<Transfer>,
): Promise<Transfer & { growthBytes: number }> {
  const [edgePid = 0, conversationPid = 0] = testbed.servicePids();
  const resident = () => residentBytes(edgePid) + residentBytes(conversationPid);
  const before = resident();
  const { result, peak } = await measurePeak(resident, SAMPLE_INTERVAL_MS, run);
  return { ...result, growthBytes: peak - before };
}
