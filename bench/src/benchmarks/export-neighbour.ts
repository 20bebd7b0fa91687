import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { nodeFlags, queryRows, type RunningProcess, startProcess } from "@parley/test-support";
import { requestOwnersToken } from "../../../tests/system/console.ts";
import { visit } from "../../../tests/system/visitors.ts";
import { cpuMsWithChildren } from "../support/cpu.ts";
import type { OwnersTestbed } from "../support/owners-testbed.ts";
import { median, percentile } from "../support/statistics.ts";
import { readPostmasterPid } from "../support/testbed.ts";
import { atMost, type Figure, type RunOptions } from "./benchmark.ts";
import { PAUSE_BETWEEN_EXPORTS_MS } from "./bulk-export.ts";

/** The goal: during an export, the p99 of chats is at most this many times the p99 without one. */
const MAX_RATIO = 1.2;
const CHATS = 400;
/** With fewer chats, the p99 would be the duration of the slowest chat. */
const MIN_CHATS = 100;
const MIN_ROUNDS = 5;
const downloaderPath = fileURLToPath(new URL("../load/export-downloader.ts", import.meta.url));

/** Percentiles of the durations of chats, and the CPU time per chat by process name. All in milliseconds. */
type ChatTimes = { p50: number; p99: number; cpuMsPerChat: Record<string, number> };

/** Measures how much an export slows the chats of another workspace. */
export async function measureExportNeighbour(
  bench: OwnersTestbed,
  { rounds, scale }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure[]> {
  const chats = Math.max(MIN_CHATS, Math.ceil(CHATS * scale));
  const samples: { without: ChatTimes; during: ChatTimes }[] = [];
  // Warm-up.
  await measureChats(bench, chats);
  for (let round = 1; round <= Math.max(rounds, MIN_ROUNDS); round++) {
    await postponePeriodicTasks(bench);
    const without = await measureChats(bench, chats);
    const downloader = await startExport(bench);
    const during = await measureChats(bench, chats);
    if (!downloader.isRunning()) throw new Error("the export failed");
    await downloader.kill9();
    samples.push({ without, during });
    progress(`chats ${round}: ${describe(without)}; during an export ${describe(during)}`);
    await sleep(PAUSE_BETWEEN_EXPORTS_MS);
  }
  const ratio = (name: "p50" | "p99") => median(samples.map(({ without, during }) => during[name] / without[name]));
  const p99Ms = (side: "without" | "during") => median(samples.map((each) => each[side].p99)).toFixed(0);
  return [
    atMost(MAX_RATIO, {
      what: "another workspace's chat p99 during an export ÷ without",
      value: ratio("p99"),
      unit: "×",
      detail: `${p99Ms("without")} ms without, ${p99Ms("during")} ms with; p50 ${ratio("p50").toFixed(2)} ×; ${samples.length} × ${chats} chats each`,
    }),
  ];
}

async function measureChats(bench: OwnersTestbed, chats: number): Promise<ChatTimes> {
  const { system, tenant } = bench.testbed;
  const pids = await findPids(bench);
  const before = Object.values(pids).map(cpuMsWithChildren);
  const times: number[] = [];
  while (times.length < chats) {
    const started = performance.now();
    const reply = await visit(system.url(), tenant, { message: "Where is my order?" });
    if (reply.kind !== "stream" || reply.finishReason !== "stop") throw new Error(`a chat ended as ${reply.kind}`);
    times.push(performance.now() - started);
  }
  const cpuMsPerChat = Object.entries(pids).map(([name, pid], index) => [
    name,
    (cpuMsWithChildren(pid) - (before[index] ?? 0)) / chats,
  ]);
  return { p50: percentile(times, 50), p99: percentile(times, 99), cpuMsPerChat: Object.fromEntries(cpuMsPerChat) };
}

async function findPids({ testbed }: OwnersTestbed): Promise<Record<string, number>> {
  const [edge = 0, conversation = 0, quota = 0, llm = 0] = testbed.servicePids();
  const postgres = await readPostmasterPid(testbed.system.database.url);
  return { edge, conversation, quota, "llm-proxy": llm, PostgreSQL: postgres };
}

function describe({ p50, p99, cpuMsPerChat }: ChatTimes): string {
  const cpu = Object.entries(cpuMsPerChat).map(([name, ms]) => `${name} ${ms.toFixed(1)}`);
  return `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, CPU per chat ${cpu.join(", ")} ms`;
}

/** Exports in a separate process, because reading the export would delay the chats of this process. Resolves at the first byte. */
async function startExport({ testbed, sso }: OwnersTestbed): Promise<RunningProcess> {
  const downloader = await startProcess({
    name: "export",
    command: process.execPath,
    args: [...nodeFlags, downloaderPath],
    env: {
      EXPORT_URL: new URL("/api/conversations/export.ndjson", testbed.system.url()).href,
      EXPORT_TOKEN: await requestOwnersToken(sso),
    },
    ready: /exporting/,
  });
  await downloader.waitReady();
  return downloader;
}

/** Postpones tasks that would disturb the measurement. Takes over their leases, so that a running task stops when it next saves its progress. */
async function postponePeriodicTasks({ testbed }: OwnersTestbed): Promise<void> {
  await queryRows(
    testbed.system.database.url,
    `UPDATE conversation.task_leases SET holder = gen_random_uuid(), due_at = now() + interval '5 minutes'
     WHERE task IN ('audit usage', 'reconcile', 'fill call log', 'close months')`,
  );
}
