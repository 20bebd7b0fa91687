import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { fetchAndKeep, readSse } from "@parley/test-support";
import { postChat } from "../../../tests/system/chat.ts";
import { mapConcurrently } from "../../../tests/system/map-concurrently.ts";
import { createTenant, type Tenant } from "../../../tests/system/system.ts";
import { newClientAddress } from "../../../tests/system/visitors.ts";
import { cpuMs, cpuMsWithChildren, residentBytes } from "../support/cpu.ts";
import { BENCH_PLAN, readPostmasterPid, startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark, type Figure } from "./benchmark.ts";

const VISITORS = 1_000;
/** How many visitors ask for a person, or connect, at once. */
const CONCURRENCY = 16;
const MEASURED_MS = 60_000;
/** The visitors wait longer than the benchmark takes. */
const WAIT_SECONDS = 1_800;
/** As for a chat stream. */
const MAX_KB = 40;
const MAX_PERCENT = { withRedis: 10, withoutRedis: 50 };

/** Measures an edge and its conversation service while visitors wait for a person, each with an open live stream. */
export const waiting: Benchmark = {
  name: "waiting",
  description: `${VISITORS} visitors who wait for a person, each with a live stream, on one edge`,
  hintIfMissed: "each stream reads its session every 15 s with Redis, and every 3 s without",
  async run({ scale }, progress) {
    const visitors = Math.ceil(VISITORS * scale);
    const measuredMs = Math.max(5_000, MEASURED_MS * scale);
    const testbed = await startTestbed("tokens-1", { env: { edge: { MAX_STREAMS: String(visitors * 4) } } });
    try {
      const tenant = await createTenant(testbed.system.admin, { plan: BENCH_PLAN, model: "openai:tokens-1" });
      const changes = { handoffEnabled: true, handoffWaitSeconds: WAIT_SECONDS };
      await testbed.system.admin.bots.updateBot({ workspaceId: tenant.workspaceId, slug: tenant.botSlug, changes });
      const sessions = Array.from({ length: visitors }, () => randomUUID());
      await mapConcurrently(visitors, CONCURRENCY, (index) => askForPerson(testbed, tenant, sessions[index] ?? ""));
      progress(`${visitors} visitors have asked for a person`);
      const [shared = 0] = testbed.servicePids();
      const alone = await testbed.system.startEdge({ REDIS_URL: "" });
      const measure = (url: string, edgePid: number) =>
        measureOpenStreams({ testbed, tenant, sessions, url, edgePid, measuredMs });
      const withRedis = await measure(testbed.system.url(), shared);
      const withoutRedis = await measure(testbed.system.url(1), alone.process().pid);
      return [
        ...toFigures("with Redis", MAX_PERCENT.withRedis, withRedis),
        ...toFigures("without Redis", MAX_PERCENT.withoutRedis, withoutRedis),
      ];
    } finally {
      await testbed.stop();
    }
  },
};

type Measured = { edgePercent: number; conversationPercent: number; databasePercent: number; kilobytes: number };

function toFigures(name: string, maxPercent: number, measured: Measured): Figure[] {
  const { edgePercent, conversationPercent, databasePercent, kilobytes } = measured;
  const detail = `conversation ${conversationPercent.toFixed(1)} %, PostgreSQL ${databasePercent.toFixed(1)} %`;
  return [
    atMost(maxPercent, { what: `edge's share of a core, ${name}`, value: edgePercent, unit: "%", detail }),
    atMost(MAX_KB, { what: `memory per stream in the edge, ${name}`, value: kilobytes, unit: "KB", detail: "" }),
  ];
}

async function askForPerson({ system }: Testbed, tenant: Tenant, sessionId: string): Promise<void> {
  const headers = { "x-forwarded-for": newClientAddress() };
  await (await postChat(system.url(), tenant, { session_id: sessionId }, { headers })).text();
  const response = await fetch(`${system.url()}/api/chat/handoff/`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: tenant.origin, ...headers },
    body: JSON.stringify({ public_key: tenant.publicKey, session_id: sessionId }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`a visitor could not ask for a person: ${response.status} ${text}`);
}

type Scene = {
  testbed: Testbed;
  tenant: Tenant;
  sessions: readonly string[];
  url: string;
  edgePid: number;
  measuredMs: number;
};

async function measureOpenStreams({ testbed, tenant, sessions, url, edgePid, measuredMs }: Scene): Promise<Measured> {
  const conversationPid = testbed.system.conversation.process().pid;
  const databasePid = await readPostmasterPid(testbed.system.database.url);
  const readCpu = () => [cpuMs(edgePid), cpuMs(conversationPid), cpuMsWithChildren(databasePid)] as const;
  const end = new AbortController();
  const follow = (sessionId: string) => followUntilState(`${url}/api/chat/live/`, tenant, sessionId, end.signal);
  try {
    // Compiled code and caches are no memory of the streams.
    await follow(sessions[0] ?? "");
    const before = residentBytes(edgePid);
    await mapConcurrently(sessions.length, CONCURRENCY, (index) => follow(sessions[index] ?? ""));
    const cpuBefore = readCpu();
    await sleep(measuredMs);
    const [edgePercent = 0, conversationPercent = 0, databasePercent = 0] = readCpu().map(
      (value, index) => ((value - (cpuBefore[index] ?? 0)) / measuredMs) * 100,
    );
    const kilobytes = (residentBytes(edgePid) - before) / 1_024 / sessions.length;
    return { edgePercent, conversationPercent, databasePercent, kilobytes };
  } finally {
    end.abort();
  }
}

/** Opens a live stream, which stays open until the signal is aborted. Throws if it does not say that the visitor waits. */
async function followUntilState(url: string, tenant: Tenant, sessionId: string, signal: AbortSignal): Promise<void> {
  const query = new URLSearchParams({ public_key: tenant.publicKey, session_id: sessionId });
  const headers = { origin: tenant.origin, "x-forwarded-for": newClientAddress() };
  const response = await fetchAndKeep(`${url}?${query}`, { headers, signal });
  const { value } = await readSse(response).next();
  const state = value !== undefined && "event" in value ? (value.data as { state?: string }).state : undefined;
  if (state !== "requested") throw new Error(`a live stream began with ${JSON.stringify(value)}`);
}
