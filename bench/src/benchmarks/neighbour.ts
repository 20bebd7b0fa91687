import { fileURLToPath } from "node:url";
import { nodeFlags, startProcess } from "@parley/test-support";
import { pdfBombs, slowPdf } from "../../../services/conversation/src/testing/document-bombs.ts";
import { sendBaselineMessages, sendSlowMessages, storeSlowPatterns } from "../../../tests/system/pattern-attack.ts";
import { POD_HEAPS, POD_MEMORY_MIB } from "../../../tests/system/pods.ts";
import { createTenant } from "../../../tests/system/system.ts";
import { visit } from "../../../tests/system/visitors.ts";
import { measurePeak, residentBytesWithChildren } from "../support/cpu.ts";
import { median, percentile } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark, type Figure, type RunOptions } from "./benchmark.ts";

const FLOOD_SCRIPT = fileURLToPath(new URL("../../../tests/edge/flood.ts", import.meta.url));
const CHATS = 600;
const WARM_UP_CHATS = 100;
const ATTACKERS = 4;
/** Goal for a ratio: the neighbour's chat p99 during the attack, divided by the p99 without the attack. */
const MAX_RATIO = 1.2;
/** Goal for the p99 of health checks while an attacker sends bodies that are costly to parse. */
const MAX_HEALTH_MS = 50;
/** Goals for the peak memory: 80 % of the pods' memory limits in the chart. */
const MAX_EDGE_MIB = (POD_MEMORY_MIB.edge * 8) / 10;
const MAX_CONVERSATION_MIB = (POD_MEMORY_MIB.conversation * 8) / 10;
const SAMPLE_INTERVAL_MS = 20;

/** `stop` ends the traffic and resolves when no request is running. */
type Traffic = { stop(): Promise<unknown> };
type Attack = {
  begin: () => Promise<Traffic>;
  /** Starts harmless traffic for the measurements without the attack; absent: no traffic. */
  beginHarmless?: () => Promise<Traffic>;
};
type Latencies = { chatMs: number; healthMs: number };
type AttackKind = {
  name: string;
  prepare: (testbed: Testbed) => Promise<Attack>;
  latency: (attackName: string, quiet: Latencies, attacked: Latencies) => Figure;
  /** Returns the id of the process whose memory the attack may exhaust. `maxMiB` is the goal for this memory. */
  pidOf: (testbed: Testbed) => number;
  maxMiB: number;
};

const edgePid = ({ system }: Testbed) => system.edges[0]?.process().pid ?? 0;
const conversationPid = ({ system }: Testbed) => system.conversation.process().pid;

export function healthFigure(attackName: string, quiet: Latencies, attacked: Latencies): Figure {
  const detail = compareMs("health check", quiet.healthMs, attacked.healthMs);
  return atMost(MAX_HEALTH_MS, {
    what: `${attackName}: another client's health check p99`,
    value: attacked.healthMs,
    unit: "ms",
    detail,
  });
}

export function chatFigure(attackName: string, quiet: Latencies, attacked: Latencies): Figure {
  const detail = compareMs("chat", quiet.chatMs, attacked.chatMs);
  const value = attacked.chatMs / quiet.chatMs;
  return atMost(MAX_RATIO, { what: `${attackName}: neighbour's chat p99`, value, unit: "×", detail });
}

function compareMs(request: string, quietMs: number, attackedMs: number): string {
  return `${request} p99 ${quietMs.toFixed(0)} ms without the attack, ${attackedMs.toFixed(0)} ms with it`;
}

const againstConversation = { latency: chatFigure, pidOf: conversationPid, maxMiB: MAX_CONVERSATION_MIB };

const ATTACK_KINDS: AttackKind[] = [
  { name: "costly bodies", prepare: prepareCostlyBodies, latency: healthFigure, pidOf: edgePid, maxMiB: MAX_EDGE_MIB },
  { name: "slow patterns", prepare: prepareSlowPatterns, ...againstConversation },
  { name: "PDF bombs", prepare: preparePdfBombs, ...againstConversation },
];

/** Measures how much one tenant's attack slows down another tenant's visitors, and the memory of the attacked process. */
export const neighbour: Benchmark = {
  name: "neighbour",
  description:
    "p99 of another workspace's chats during an attack ÷ without it, p99 of another client's health checks, and memory of the attacked process",
  hintIfMissed: "the attack's client, the services and the neighbour share the machine's cores",
  async run(runOptions, progress) {
    const figures: Figure[] = [];
    for (const kind of ATTACK_KINDS) figures.push(...(await measureAttack(kind, runOptions, progress)));
    return figures;
  },
};

async function measureAttack(
  kind: AttackKind,
  { rounds, scale }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure[]> {
  const testbed = await startTestbed("tokens-10", { env: POD_HEAPS });
  try {
    const attack = await kind.prepare(testbed);
    const pid = kind.pidOf(testbed);
    const chats = Math.ceil(CHATS * scale);
    await chatTimesMs(testbed, Math.ceil(WARM_UP_CHATS * scale));
    const quiet: Latencies[] = [];
    const attacked: Latencies[] = [];
    let peakMiB = 0;
    for (let round = 1; round <= rounds; round++) {
      const harmless = await attack.beginHarmless?.();
      try {
        quiet.push(await measureNeighbour(testbed, chats));
      } finally {
        await harmless?.stop();
      }
      const traffic = await attack.begin();
      const { result, peak } = await measurePeak(
        () => residentBytesWithChildren(pid) / 2 ** 20,
        SAMPLE_INTERVAL_MS,
        () => measureNeighbour(testbed, chats).finally(() => traffic.stop()),
      );
      attacked.push(result);
      peakMiB = Math.max(peakMiB, peak);
      progress(
        `${kind.name}, round ${round}: chat p99 ${quiet.at(-1)?.chatMs.toFixed(0)} → ${attacked.at(-1)?.chatMs.toFixed(0)} ms, health p99 ${attacked.at(-1)?.healthMs.toFixed(1)} ms, ${peakMiB.toFixed(0)} MiB`,
      );
    }
    const { name, maxMiB } = kind;
    const latency = kind.latency(name, medianOf(quiet), medianOf(attacked));
    const memory = { what: `${name}: memory`, value: peakMiB, unit: "MiB", detail: "including child processes" };
    return [latency, atMost(maxMiB, memory)];
  } finally {
    await testbed.stop();
  }
}

function medianOf(rounds: readonly Latencies[]): Latencies {
  return {
    chatMs: median(rounds.map(({ chatMs }) => chatMs)),
    healthMs: median(rounds.map(({ healthMs }) => healthMs)),
  };
}

/**
 * Sends `count` chats in sequence and, at the same time, `count` health checks in sequence. Returns the p99 of the chats and of the health
 * checks.
 */
async function measureNeighbour(testbed: Testbed, count: number): Promise<Latencies> {
  const [chats, checks] = await Promise.all([chatTimesMs(testbed, count), healthTimesMs(testbed, count)]);
  return { chatMs: percentile(chats, 99), healthMs: percentile(checks, 99) };
}

async function chatTimesMs({ system, tenant }: Testbed, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let chat = 0; chat < count; chat++) {
    const startedAt = performance.now();
    const reply = await visit(system.url(), tenant, { message: "Where is my order?" });
    if (reply.kind !== "stream" || reply.finishReason !== "stop")
      throw new Error(`a neighbour's reply is not complete (kind ${reply.kind})`);
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function healthTimesMs({ system }: Testbed, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let request = 0; request < count; request++) {
    const startedAt = performance.now();
    await (await fetch(`${system.url()}/healthz/live`)).text();
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function prepareCostlyBodies({ system }: Testbed): Promise<Attack> {
  const args = [...nodeFlags, FLOOD_SCRIPT, new URL(system.url()).port, "many"];
  return {
    async begin() {
      const sender = await startProcess({ name: "flood", command: process.execPath, args, ready: /flooding/ });
      await sender.waitReady();
      return { stop: async () => void (await sender.stop()) };
    },
  };
}

async function prepareSlowPatterns({ system }: Testbed): Promise<Attack> {
  const attacker = await createTenant(system.admin, { plan: "scale" });
  await storeSlowPatterns(system, attacker);
  const ordinaryTenant = await createTenant(system.admin, { plan: "scale" });
  return {
    begin: async () => sendSlowMessages(system.url(), attacker),
    beginHarmless: async () => sendBaselineMessages(system.url(), ordinaryTenant),
  };
}

async function preparePdfBombs({ system }: Testbed): Promise<Attack> {
  const { workspaceId, botSlug } = await createTenant(system.admin, { plan: "scale" });
  const bombs = Object.entries({ ...pdfBombs(), slow: slowPdf() });
  let next = 0;
  return {
    begin: async () =>
      sendRepeatedly(async () => {
        const [name, content] = bombs[next++ % bombs.length] ?? ["", new Uint8Array()];
        // Ignores the error with which the service refuses the PDF.
        await system.admin.knowledge
          .addSource({ workspaceId, botSlug, name, format: "pdf", content })
          .catch(() => undefined);
      }),
  };
}

function sendRepeatedly(request: () => Promise<unknown>): Traffic {
  let isOver = false;
  const clients = Array.from({ length: ATTACKERS }, async () => {
    while (!isOver) await request();
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };
}
