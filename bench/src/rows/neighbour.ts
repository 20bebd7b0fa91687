import { fileURLToPath } from "node:url";
import { nodeFlags, startProcess } from "@parley/test-support";
import { pdfBombs } from "../../../services/conversation/src/testing/document-bombs.ts";
import { slowMessage, storeSlowPatterns } from "../../../tests/system/pattern-attack.ts";
import { createTenant, type Tenant } from "../../../tests/system/system.ts";
import { visit } from "../../../tests/system/visitors.ts";
import { familyResidentBytes } from "../support/cpu.ts";
import { type Stage, setStage } from "../support/stage.ts";
import { median, percentile } from "../support/statistics.ts";
import type { Effort, Figure, Row } from "./row.ts";

const FLOOD = fileURLToPath(new URL("../../../tests/edge/flood.ts", import.meta.url));
const CHATS = 300;
const WARM_UP_CHATS = 100;
const ATTACKERS = 4;
const MAX_RATIO = 1.2;
const MAX_EDGE_MS = 50;
/** 80 % of what the chart allows a pod. */
const MAX_EDGE_MIB = 768 * 0.8;
const MAX_CONVERSATION_MIB = 512 * 0.8;
const MEMORY_EVERY_MS = 20;

/** An attack under way; `stop` ends it and waits for its last request. */
type Attack = { stop(): Promise<void> };
/** One way to attack, and the process whose memory it is after. */
type Kind = {
  name: string;
  begin: (stage: Stage, attacker: Tenant) => Promise<Attack>;
  pidOf: (stage: Stage) => number;
  maxMiB: number;
};

const edgePid = ({ system }: Stage) => system.edges[0]?.process().pid ?? 0;
const conversationPid = ({ system }: Stage) => system.conversation.process().pid;

const KINDS: Kind[] = [
  { name: "costly bodies", begin: flood, pidOf: edgePid, maxMiB: MAX_EDGE_MIB },
  { name: "slow patterns", begin: sendSlowMessages, pidOf: conversationPid, maxMiB: MAX_CONVERSATION_MIB },
  { name: "PDF bombs", begin: addBombs, pidOf: conversationPid, maxMiB: MAX_CONVERSATION_MIB },
];

/** What one tenant's attack costs another tenant's visitors, and the memory of the process that it aims at. */
export const neighbour: Row = {
  name: "neighbour",
  about:
    "p99 of another workspace's chat under attack ÷ without, another client's p99 at the edge, and memory beside its bound",
  inTheWay: "the attack's client, the services and the neighbour share the machine's cores",
  async run(effort, progress) {
    const figures: Figure[] = [];
    for (const kind of KINDS) figures.push(...(await measureKind(kind, effort, progress)));
    return figures;
  },
};

async function measureKind(kind: Kind, { rounds, scale }: Effort, progress: (line: string) => void): Promise<Figure[]> {
  const stage = await setStage("tokens-10");
  try {
    const attacker = await createTenant(stage.system.admin, { plan: "scale" });
    const chats = Math.ceil(CHATS * scale);
    await chatTimesMs(stage, Math.ceil(WARM_UP_CHATS * scale));
    const quiet: number[] = [];
    const attacked: number[] = [];
    const health: number[] = [];
    let peakMiB = 0;
    for (let round = 1; round <= rounds; round++) {
      quiet.push(percentile(await chatTimesMs(stage, chats), 99));
      const attack = await kind.begin(stage, attacker);
      const memory = watchMiB(kind.pidOf(stage));
      try {
        const [chat, answers] = await Promise.all([chatTimesMs(stage, chats), healthTimesMs(stage, chats)]);
        attacked.push(percentile(chat, 99));
        health.push(percentile(answers, 99));
      } finally {
        await attack.stop();
        peakMiB = Math.max(peakMiB, memory());
      }
      progress(
        `${kind.name}, round ${round}: chat p99 ${quiet.at(-1)?.toFixed(0)} → ${attacked.at(-1)?.toFixed(0)} ms, health p99 ${health.at(-1)?.toFixed(1)} ms, ${peakMiB.toFixed(0)} MiB`,
      );
    }
    const ratio = median(attacked) / median(quiet);
    const detail = `chat p99 ${median(quiet).toFixed(0)} ms without, ${median(attacked).toFixed(0)} ms with`;
    const latency =
      kind.name === "costly bodies"
        ? { what: `${kind.name}: another client's p99`, value: median(health), unit: "ms", bound: MAX_EDGE_MS }
        : { what: `${kind.name}: neighbour's chat p99`, value: ratio, unit: "×", bound: MAX_RATIO };
    return [
      figureOf(latency, detail),
      figureOf(
        { what: `${kind.name}: memory`, value: peakMiB, unit: "MiB", bound: kind.maxMiB },
        "with child processes",
      ),
    ];
  } finally {
    await stage.stop();
  }
}

type Bounded = { what: string; value: number; unit: string; bound: number };

function figureOf({ what, value, unit, bound }: Bounded, detail: string): Figure {
  return { what, value, unit, goal: `≤ ${Math.floor(bound * 10) / 10} ${unit}`, met: value <= bound, detail };
}

/** The times of a neighbour's chats, one after the other. */
async function chatTimesMs({ system, tenant }: Stage, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let chat = 0; chat < count; chat++) {
    const startedAt = performance.now();
    const seen = await visit(system.url(), tenant, { message: "Where is my order?" });
    if (seen.kind !== "stream" || seen.finish !== "stop") throw new Error(`a neighbour's chat ended as ${seen.kind}`);
    times.push(performance.now() - startedAt);
  }
  return times;
}

async function healthTimesMs({ system }: Stage, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let request = 0; request < count; request++) {
    const startedAt = performance.now();
    await (await fetch(`${system.url()}/healthz/live`)).text();
    times.push(performance.now() - startedAt);
  }
  return times;
}

/** Returns a function that ends the watch and returns the largest sum of the resident memory of a process and its children. */
function watchMiB(pid: number): () => number {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, familyResidentBytes(pid) / 2 ** 20);
  }, MEMORY_EVERY_MS);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

async function flood({ system }: Stage): Promise<Attack> {
  const args = [...nodeFlags, FLOOD, new URL(system.url()).port, "many"];
  const sender = await startProcess({ name: "flood", command: process.execPath, args, ready: /flooding/ });
  await sender.waitReady();
  return { stop: async () => void (await sender.stop()) };
}

async function sendSlowMessages({ system }: Stage, attacker: Tenant): Promise<Attack> {
  await storeSlowPatterns(system, attacker);
  return repeat(() => visit(system.url(), attacker, { message: slowMessage() }));
}

function addBombs({ system }: Stage, { workspaceId, botSlug }: Tenant): Promise<Attack> {
  const bombs = Object.entries(pdfBombs());
  let next = 0;
  return repeat(async () => {
    const [name, content] = bombs[next++ % bombs.length] ?? ["", new Uint8Array()];
    // A bomb is refused; the attacker goes on.
    await system.admin.knowledge
      .addSource({ workspaceId, botSlug, name, format: "pdf", content })
      .catch(() => undefined);
  });
}

/** Repeats a request from several sides until it is stopped. */
async function repeat(request: () => Promise<unknown>): Promise<Attack> {
  let isOver = false;
  const sides = Array.from({ length: ATTACKERS }, async () => {
    while (!isOver) await request();
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(sides);
    },
  };
}
