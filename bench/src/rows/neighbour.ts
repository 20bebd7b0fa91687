import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { nodeFlags, startProcess } from "@parley/test-support";
import { pdfBombs } from "../../../services/conversation/src/testing/document-bombs.ts";
import { slowMessage, storeSlowPatterns } from "../../../tests/system/pattern-attack.ts";
import { createTenant } from "../../../tests/system/system.ts";
import { visit } from "../../../tests/system/visitors.ts";
import { familyResidentBytes } from "../support/cpu.ts";
import { type Stage, setStage } from "../support/stage.ts";
import { median, percentile } from "../support/statistics.ts";
import type { Effort, Figure, Row } from "./row.ts";

const FLOOD = fileURLToPath(new URL("../../../tests/edge/flood.ts", import.meta.url));
const CHATS = 600;
const WARM_UP_CHATS = 100;
const ATTACKERS = 4;
const MAX_RATIO = 1.2;
const MAX_EDGE_MS = 50;
/** 80 % of what the chart allows a pod. */
const MAX_EDGE_MIB = 768 * 0.8;
const MAX_CONVERSATION_MIB = 512 * 0.8;
const MEMORY_EVERY_MS = 20;

/** Traffic of one kind. Stopping it waits for its last request. */
type Traffic = { stop(): Promise<void> };
type Attack = {
  begin: () => Promise<Traffic>;
  /** The attacker's traffic in the rounds without the attack; none if it is absent. */
  beginHarmless?: () => Promise<Traffic>;
};
/** A kind of attack, and the process whose memory it exhausts. */
type Kind = {
  name: string;
  prepare: (stage: Stage) => Promise<Attack>;
  pidOf: (stage: Stage) => number;
  maxMiB: number;
};

const edgePid = ({ system }: Stage) => system.edges[0]?.process().pid ?? 0;
const conversationPid = ({ system }: Stage) => system.conversation.process().pid;

const KINDS: Kind[] = [
  { name: "costly bodies", prepare: costlyBodies, pidOf: edgePid, maxMiB: MAX_EDGE_MIB },
  { name: "slow patterns", prepare: slowPatterns, pidOf: conversationPid, maxMiB: MAX_CONVERSATION_MIB },
  { name: "PDF bombs", prepare: documentBombs, pidOf: conversationPid, maxMiB: MAX_CONVERSATION_MIB },
];

/** Measures how much one tenant's attack slows down another tenant's visitors, and the memory of the attacked process. */
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
    const attack = await kind.prepare(stage);
    const chats = Math.ceil(CHATS * scale);
    await chatTimesMs(stage, Math.ceil(WARM_UP_CHATS * scale));
    const quiet: number[] = [];
    const attacked: number[] = [];
    const health: number[] = [];
    let peakMiB = 0;
    for (let round = 1; round <= rounds; round++) {
      const harmless = await attack.beginHarmless?.();
      try {
        quiet.push((await probe(stage, chats)).chatMs);
      } finally {
        await harmless?.stop();
      }
      const traffic = await attack.begin();
      const memory = watchMiB(kind.pidOf(stage));
      try {
        const { chatMs, healthMs } = await probe(stage, chats);
        attacked.push(chatMs);
        health.push(healthMs);
      } finally {
        await traffic.stop();
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

/** Sends chats and health checks at the same time, each one after the other. Returns their p99. */
async function probe(stage: Stage, count: number): Promise<{ chatMs: number; healthMs: number }> {
  const [chats, answers] = await Promise.all([chatTimesMs(stage, count), healthTimesMs(stage, count)]);
  return { chatMs: percentile(chats, 99), healthMs: percentile(answers, 99) };
}

/** The times of a neighbour's chats, one after the other. */
async function chatTimesMs({ system, tenant }: Stage, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let chat = 0; chat < count; chat++) {
    const startedAt = performance.now();
    const seen = await visit(system.url(), tenant, { message: "Where is my order?" });
    if (seen.kind !== "stream" || seen.finishReason !== "stop") throw new Error(`a neighbour's chat ended as ${seen.kind}`);
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

async function costlyBodies({ system }: Stage): Promise<Attack> {
  const args = [...nodeFlags, FLOOD, new URL(system.url()).port, "many"];
  return {
    async begin() {
      const sender = await startProcess({ name: "flood", command: process.execPath, args, ready: /flooding/ });
      await sender.waitReady();
      return { stop: async () => void (await sender.stop()) };
    },
  };
}

/** Without the attack, a bot without patterns gets the same messages, about one a second: as many as the attacked bot answers. */
async function slowPatterns({ system }: Stage): Promise<Attack> {
  const attacker = await createTenant(system.admin, { plan: "scale" });
  await storeSlowPatterns(system, attacker);
  const ordinary = await createTenant(system.admin, { plan: "scale" });
  return {
    begin: async () => repeat(() => visit(system.url(), attacker, { message: slowMessage() })),
    beginHarmless: async () =>
      repeat(async () => {
        await visit(system.url(), ordinary, { message: slowMessage() });
        await setTimeout(ATTACKERS * 1_000);
      }),
  };
}

async function documentBombs({ system }: Stage): Promise<Attack> {
  const { workspaceId, botSlug } = await createTenant(system.admin, { plan: "scale" });
  const bombs = Object.entries(pdfBombs());
  let next = 0;
  return {
    begin: async () =>
      repeat(async () => {
        const [name, content] = bombs[next++ % bombs.length] ?? ["", new Uint8Array()];
        // A bomb is refused; the attacker goes on.
        await system.admin.knowledge
          .addSource({ workspaceId, botSlug, name, format: "pdf", content })
          .catch(() => undefined);
      }),
  };
}

/** Repeats a request from several clients until it is stopped. */
function repeat(request: () => Promise<unknown>): Traffic {
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
