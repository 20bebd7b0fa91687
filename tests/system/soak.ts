import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readSse, startRedis, startTcpProxy, startTestPostgres, type TcpProxy } from "@parley/test-support";
import { type Balance, createPlan, readBalance } from "./books.ts";
import { postChat } from "./chat.ts";
import { metric, residentBytes } from "./metrics.ts";
import type { ServiceProcess } from "./processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system.ts";
import { countEnds, newAddress, TRUST_THE_TESTS, visit } from "./visitors.ts";

export type SoakOptions = { minutes: number; visitors: number; progress: (line: string) => void };

export type SoakResult = {
  /** What visitors saw who stayed, by how it ended; `undefined` is a stream without an end. */
  ends: Record<string, number>;
  /** Visitors who left amid their reply. */
  left: number;
  /** Visits that had not ended after two minutes. */
  hangs: number;
  /** Streams that ended without `done`. */
  unended: number;
  /** Streams that the edges still count when everyone is gone. */
  open: number;
  balance: Balance;
  /** Each service's resident memory: [milliseconds since the start, bytes]. */
  memory: Record<string, [number, number][]>;
};

/** So small that it is full, and collected, long before warm-up ends: what grows afterwards is a leak, not a heap that has room. */
const SMALL_HEAP = "--max-semi-space-size=4 --max-old-space-size=112";
const HANG_MS = 120_000;
const SAMPLE_MS = 2_000;
const MIB = 1024 * 1024;

/**
 * Mixed load with faults: replies short and long, providers that fail, visitors who leave, refusals, Redis that pauses, and wires between
 * the services that are reset, delayed and stalled. Nothing is killed, so that memory can be watched.
 */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const [postgres, redis] = await Promise.all([startTestPostgres(), startRedis()]);
  const common = { LOG_LEVEL: "silent", NODE_OPTIONS: SMALL_HEAP };
  const system = await startSystem({
    redisUrl: redis.url,
    databaseServerUrl: postgres.url,
    // Two, so that the breaker of the one that fails keeps nobody from the other.
    llmConfig: (base_url) => ({ default_model: "good:default", providers: { good: { base_url }, bad: { base_url } } }),
    env: { edge: { ...TRUST_THE_TESTS, ...common }, conversation: common, quota: common, "llm-proxy": common },
  });
  const wires = await Promise.all(
    [system.conversation, system.quota, system.llm].map(({ port }) => startTcpProxy({ targetPort: port })),
  );
  try {
    const [conversation, quota, llm] = wires.map(({ port }) => `127.0.0.1:${port}`);
    await system.startEdge({
      CONVERSATION_TARGET: conversation ?? "",
      QUOTA_TARGET: quota ?? "",
      LLM_TARGET: llm ?? "",
    });
    await createPlan(system.database, "endless", 100_000_000);
    const replies = ["default", "tokens-100-every-5", "echo", "crlf", "tokens-40-every-50"];
    const models = [...replies.map((name) => `good:${name}`), "bad:cut-after-3", "bad:end-after-2", "bad:status-500"];
    const tenants = await Promise.all(models.map((model) => createTenant(system.admin, { plan: "endless", model })));
    return await soak(system, { tenants, wires, pauseRedis: redis.pause, resumeRedis: redis.resume }, options);
  } finally {
    redis.resume();
    await Promise.all(wires.map((wire) => wire.resume()));
    await system.stop();
    await Promise.all([...wires.map((wire) => wire.close()), redis.stop()]);
    await postgres.stop();
  }
}

type Scene = { tenants: Tenant[]; wires: TcpProxy[]; pauseRedis(): void; resumeRedis(): void };

async function soak(system: System, scene: Scene, options: SoakOptions): Promise<SoakResult> {
  const startedAt = performance.now();
  const totalMs = options.minutes * 60_000;
  const isOver = () => performance.now() - startedAt > totalMs;
  const services: ServiceProcess[] = [...system.edges, system.conversation, system.quota, system.llm];
  const samples = services.map((): [number, number][] => []);
  // Counted at once and then forgotten, so that half an hour of it does not fill the test's own memory.
  const ends: Record<string, number> = {};
  let visits = 0;
  let unended = 0;
  let left = 0;
  let hangs = 0;

  async function visitor(number: number): Promise<void> {
    for (let turn = number; !isOver(); turn++) {
      const url = system.url(turn % system.edges.length);
      const tenant = scene.tenants[turn % scene.tenants.length] as Tenant;
      const work = turn % 7 === 3 ? leave(url, tenant).then(() => void left++) : stay(url, tenant, turn);
      const late = new AbortController();
      const hang = sleep(HANG_MS, "hang", { signal: late.signal }).catch(() => undefined);
      if ((await Promise.race([work, hang])) === "hang") hangs++;
      late.abort();
      await sleep(20);
    }
  }

  async function stay(url: string, tenant: Tenant, turn: number): Promise<void> {
    // Now and then a stranger's key, and a body that is none.
    // Every other visitor has the widget loaded first.
    if (turn % 2 === 0) await loadWidget(url, tenant);
    const fields = turn % 11 === 0 ? { public_key: randomUUID() } : turn % 13 === 0 ? { message: 1 } : {};
    const each = await visit(url, tenant, fields);
    const hasEnd = each.kind === "plain" || (each.kind === "stream" && each.result.done !== undefined);
    if (!hasEnd) unended++;
    for (const [end, count] of Object.entries(countEnds([each]))) ends[end] = (ends[end] ?? 0) + count;
    visits++;
  }

  async function trouble(): Promise<void> {
    for (let round = 0; !isOver(); round++) {
      await sleep(3_000);
      const wire = scene.wires[round % scene.wires.length] as TcpProxy;
      const fault = round % 5;
      if (fault === 0) wire.resetAll();
      else if (fault === 1) wire.latency(40);
      else if (fault === 2) wire.stall();
      else if (fault === 3) scene.pauseRedis();
      else wire.cutAfterBytes(5_000);
      await sleep(2_000);
      await wire.resume();
      scene.resumeRedis();
    }
  }

  async function watch(): Promise<void> {
    for (let look = 1; !isOver(); look++) {
      await sleep(SAMPLE_MS);
      const at = performance.now() - startedAt;
      const resident = await Promise.all(services.map(residentBytes));
      for (const [index, bytes] of resident.entries()) samples[index]?.push([at, bytes]);
      // The scripted provider keeps what it was asked; here nobody looks at it.
      system.provider.requests.length = 0;
      if (look % 30 === 0)
        options.progress(`${visits} visits; MiB: ${resident.map((bytes) => Math.round(bytes / MIB)).join(" ")}`);
    }
  }

  await Promise.all([trouble(), watch(), ...Array.from({ length: options.visitors }, (_, number) => visitor(number))]);
  options.progress(`${visits} visits; now everything is left in peace`);
  const balance = await settled(system);
  const open = await Promise.all(system.edges.map((edge) => metric(edge, "parley_streams_open")));
  return {
    ends,
    left,
    hangs,
    unended,
    open: open.reduce((sum, each) => sum + each, 0),
    balance,
    memory: Object.fromEntries(services.map(({ name }, index) => [`${name} ${index}`, samples[index] ?? []])),
  };
}

/** What a page does before its visitor says anything. */
async function loadWidget(url: string, { publicKey, origin }: Tenant): Promise<void> {
  const response = await fetch(`${url}/api/widget/config/?public_key=${publicKey}`, { headers: { origin } });
  await response.text();
}

/** Reads a few tokens and goes. */
async function leave(url: string, tenant: Tenant): Promise<void> {
  const init = { headers: { "x-forwarded-for": newAddress() } };
  const response = await postChat(url, tenant, {}, init).catch(() => undefined);
  if (response?.status !== 200) return void (await response?.text());
  let events = 0;
  try {
    for await (const _ of readSse(response)) if (++events > 3) break;
  } catch {
    // Who leaves does not mind how.
  }
}

async function settled(system: System): Promise<Balance> {
  const until = performance.now() + 60_000;
  for (;;) {
    const balance = await readBalance(system.database);
    const isSettled = balance.held === 0 && balance.streaming === 0 && balance.outbox === 0;
    if (isSettled || performance.now() > until) return balance;
    await sleep(500);
  }
}
