import { randomInt, randomUUID } from "node:crypto";
import { waitUntilSettled } from "../../../tests/system/database.ts";
import { type ReplyEnd, readUntilEnd } from "../../../tests/system/faults/resuming-visitor.ts";
import { mapConcurrently } from "../../../tests/system/map-concurrently.ts";
import type { LoadOptions } from "../load/chat-load-options.ts";
import { measureAlternately } from "../support/alternate.ts";
import { compareCharges } from "../support/charges.ts";
import { type LoadShape, measureLoad, parleyLoad } from "../support/load.ts";
import { median, percentile, sum } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atLeast, atMost, type Benchmark, type Figure, type RunOptions } from "./benchmark.ts";

const REPLIES = 1_000;
const CONCURRENT_REPLIES = 100;
const RECONNECTS = 5;
const EDGES = 3;
const TOKENS = 100;
const READER_TIMEOUT_MS = 60_000;
const SETTLE_TIMEOUT_MS = 30_000;

const MAX_CPU_RATIO = 1.05;
const SHAPE: LoadShape = { callers: 16, turns: 300, warmUpTurns: 100 };
/** Turns of each kind (without and with an idempotency key) that warm up the new processes before the first round. */
const FIRST_WARM_UP_TURNS = 4_000;
/** Alternations in a round. Each measures turns without a key, then turns with one. */
const ALTERNATIONS = 8;

/** Measures how many replies are lost, duplicated or wrongly charged when visitors reconnect, and the CPU time that an idempotency key costs. */
export const resume: Benchmark = {
  name: "resume",
  description: `${REPLIES} replies reconnected ${RECONNECTS} times each over ${EDGES} edges; CPU of a turn with a key ÷ CPU without a key`,
  hintIfMissed:
    "for a turn with a key, the edge hashes the key and sends an id with each event, and PostgreSQL indexes the hash",
  async run(runOptions, progress) {
    return [...(await measureReconnects(runOptions, progress)), await compareCpu(runOptions, progress)];
  },
};

async function measureReconnects({ scale }: RunOptions, progress: (line: string) => void): Promise<Figure[]> {
  const testbed = await startTestbed(`tokens-${TOKENS}-every-50`, { edges: EDGES });
  try {
    const replies = Math.ceil(REPLIES * scale);
    const reconnectMs: number[] = [];
    const ends = await mapConcurrently(replies, CONCURRENT_REPLIES, (number) =>
      readReply(testbed, number, reconnectMs),
    );
    const lost = ends.filter((end) => !isWhole(end) && !("inconsistent" in end)).length;
    const duplicated = ends.filter((end) => "inconsistent" in end).length;
    const { workspaceId } = testbed.tenant;
    const { used, ledger } = await waitUntilSettled(testbed.system.database, SETTLE_TIMEOUT_MS, workspaceId);
    const { missing, additional } = await compareCharges(testbed.system.database, workspaceId, replies);
    const reconnects = reconnectMs.length;
    const detail = `${replies} replies, ${reconnects} reconnections, ${ledger} charges (${missing} missing, ${additional} additional), ${used} messages used; time to continue a reply: p50 ${median(reconnectMs).toFixed(1)} ms, p99 ${percentile(reconnectMs, 99).toFixed(1)} ms`;
    progress(detail);
    return [
      // On a slow machine, a reply can end before its last reconnection. Then this figure is lower.
      atLeast(RECONNECTS, { what: "reconnections of a reply", value: reconnects / replies, unit: "", detail }),
      atMost(0, { what: "replies lost", value: lost, unit: "", detail }),
      atMost(0, { what: "replies duplicated", value: duplicated, unit: "", detail }),
      atMost(0, { what: "wrong charges", value: missing + additional + Math.abs(used - ledger), unit: "", detail }),
    ];
  } finally {
    await testbed.stop();
  }
}

/** Reads a reply. Reconnects RECONNECTS times, each time to the next edge. */
async function readReply({ system, tenant }: Testbed, number: number, reconnectMs: number[]): Promise<ReplyEnd> {
  let requests = 0;
  const message = { tenant, sessionId: randomUUID(), key: randomUUID(), message: "How do I return an order?" };
  return readUntilEnd(message, {
    nextUrl: () => system.url((number + requests++) % EDGES),
    // Cuts the first RECONNECTS connections after 1 to 4 events each. The first event of a connection is `meta`, not text.
    nextEventLimit: () => (requests <= RECONNECTS ? 1 + randomInt(4) : Number.POSITIVE_INFINITY),
    nextDelayMs: () => 0,
    timeoutMs: READER_TIMEOUT_MS,
    onAttached: (ms) => reconnectMs.push(ms),
  });
}

function isWhole(end: ReplyEnd): boolean {
  const text = Array.from({ length: TOKENS }, (_, index) => `t${index} `).join("");
  return "text" in end && end.text === text && end.finishReason === "stop";
}

async function compareCpu({ rounds, scale }: RunOptions, progress: (line: string) => void): Promise<Figure> {
  const testbed = await startTestbed("tokens-100");
  const shape = { ...SHAPE, turns: Math.ceil(SHAPE.turns * scale), warmUpTurns: Math.ceil(SHAPE.warmUpTurns * scale) };
  const withoutKey = parleyLoad(testbed, shape);
  const withKey: LoadOptions = { ...withoutKey, headers: { ...withoutKey.headers, "idempotency-key": "$uuid" } };
  const measure = async (load: LoadOptions) => (await measureLoad(load, testbed.servicePids())).cpuMsPerTurnByProcess;
  try {
    for (const load of [withoutKey, withKey]) await measure({ ...load, turns: Math.ceil(FIRST_WARM_UP_TURNS * scale) });
    const ratios: number[] = [];
    const keyed: number[] = [];
    const unkeyed: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      const [unkeyedMsByProcess = [], keyedMsByProcess = []] = await measureAlternately(ALTERNATIONS, [
        () => measure(withoutKey),
        () => measure(withKey),
      ]);
      unkeyed.push(sum(unkeyedMsByProcess));
      keyed.push(sum(keyedMsByProcess));
      ratios.push(sum(keyedMsByProcess) / sum(unkeyedMsByProcess));
      progress(
        `round ${round}: ${sum(keyedMsByProcess).toFixed(2)} ms with a key, ${sum(unkeyedMsByProcess).toFixed(2)} ms without`,
      );
    }
    const detail = `${median(keyed).toFixed(2)} ms with a key, ${median(unkeyed).toFixed(2)} ms without, all four services`;
    return atMost(MAX_CPU_RATIO, { what: "CPU of a turn with a key", value: median(ratios), unit: "×", detail });
  } finally {
    await testbed.stop();
  }
}
