import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readSse, startRedis, startTcpProxy, startTestPostgres, type TcpProxy } from "@parley/test-support";
import { postChat } from "./chat.ts";
import { type Balance, createPlan, waitUntilSettled } from "./database.ts";
import { readMetric, readResidentBytes } from "./metrics.ts";
import type { ServiceProcess } from "./processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system.ts";
import { newClientAddress, outcomeOf, TRUST_FORWARDED_FOR, visit } from "./visitors.ts";

export type SoakOptions = { minutes: number; visitors: number; progress: (line: string) => void };

export type SoakResult = {
  /** Number of visits by outcome, without those in `disconnected`. The key `undefined` counts streams without a finish reason. */
  outcomes: Record<string, number>;
  /** Number of visits that were to disconnect after four events of the reply, including those that ended earlier. */
  disconnected: number;
  /** Number of visits that took longer than two minutes. */
  hangs: number;
  /** Number of visits whose connection broke or whose stream ended without `done`. */
  incomplete: number;
  /** Number of streams that the edges still count as open after all visits. */
  openStreams: number;
  /** Counts of turns and charges in the database after the load. */
  balance: Balance;
  /** Each service's resident memory: [milliseconds since the start, bytes]. */
  memory: Record<string, [number, number][]>;
};

/** Limits the heap so that it is full within the first third of the run. Later growth is a leak. */
const SMALL_HEAP = "--max-semi-space-size=4 --max-old-space-size=112";
const HANG_MS = 120_000;
const SAMPLE_MS = 2_000;
const SETTLE_TIMEOUT_MS = 60_000;
const MIB = 1024 * 1024;

/**
 * Runs mixed load with faults. The load has short and long replies, failing providers, refusals, and visitors who disconnect. Redis pauses,
 * and connections between the services are cut, reset, delayed and stalled. Kills no process, because it measures the memory of each process.
 */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const [postgres, redis] = await Promise.all([startTestPostgres(), startRedis()]);
  const common = { LOG_LEVEL: "silent", NODE_OPTIONS: SMALL_HEAP };
  const system = await startSystem({
    redisUrl: redis.url,
    databaseServerUrl: postgres.url,
    // Two providers, so that the open circuit breaker of `bad` does not affect `good`.
    llmConfig: (base_url) => ({ default_model: "good:default", providers: { good: { base_url }, bad: { base_url } } }),
    env: { edge: { ...TRUST_FORWARDED_FOR, ...common }, conversation: common, quota: common, "llm-proxy": common },
  });
  const proxies = await Promise.all(
    [system.conversation, system.quota, system.llm].map(({ port }) => startTcpProxy({ targetPort: port })),
  );
  try {
    const [conversation, quota, llm] = proxies.map(({ port }) => `127.0.0.1:${port}`);
    await system.startEdge({
      CONVERSATION_TARGET: conversation ?? "",
      QUOTA_TARGET: quota ?? "",
      LLM_TARGET: llm ?? "",
    });
    await createPlan(system.database, "endless", 100_000_000);
    const replies = ["default", "tokens-100-every-5", "echo", "crlf", "tokens-40-every-50"];
    const models = [...replies.map((name) => `good:${name}`), "bad:cut-after-3", "bad:end-after-2", "bad:status-500"];
    const tenants = await Promise.all(models.map((model) => createTenant(system.admin, { plan: "endless", model })));
    return await soak(system, { tenants, proxies, pauseRedis: redis.pause, resumeRedis: redis.resume }, options);
  } finally {
    redis.resume();
    await Promise.all(proxies.map((proxy) => proxy.resume()));
    await system.stop();
    await Promise.all([...proxies.map((proxy) => proxy.close()), redis.stop()]);
    await postgres.stop();
  }
}

type Setup = { tenants: Tenant[]; proxies: TcpProxy[]; pauseRedis(): void; resumeRedis(): void };

async function soak(system: System, setup: Setup, options: SoakOptions): Promise<SoakResult> {
  const startedAt = performance.now();
  const totalMs = options.minutes * 60_000;
  const isOver = () => performance.now() - startedAt > totalMs;
  const services: ServiceProcess[] = [...system.edges, system.conversation, system.quota, system.llm];
  const samples = services.map((): [number, number][] => []);
  // Counts instead of results, because the results of half an hour would fill this process's memory.
  const outcomes: Record<string, number> = {};
  let visits = 0;
  let incomplete = 0;
  let disconnected = 0;
  let hangs = 0;

  async function sendMessages(visitor: number): Promise<void> {
    for (let visitNumber = visitor; !isOver(); visitNumber++) {
      const url = system.url(visitNumber % system.edges.length);
      const tenant = setup.tenants[visitNumber % setup.tenants.length] as Tenant;
      // One visit of seven disconnects early.
      const work =
        visitNumber % 7 === 3
          ? disconnectEarly(url, tenant).then(() => void disconnected++)
          : readToEnd(url, tenant, visitNumber);
      const timeout = new AbortController();
      const hang = sleep(HANG_MS, "hang", { signal: timeout.signal }).catch(() => undefined);
      if ((await Promise.race([work, hang])) === "hang") hangs++;
      timeout.abort();
      await sleep(20);
    }
  }

  async function readToEnd(url: string, tenant: Tenant, visitNumber: number): Promise<void> {
    // Every second visit requests the widget's configuration first, like a page does.
    if (visitNumber % 2 === 0) await requestWidgetConfig(url, tenant);
    // Some visits have an unknown public key or an invalid body.
    const fields = visitNumber % 11 === 0 ? { public_key: randomUUID() } : visitNumber % 13 === 0 ? { message: 1 } : {};
    const result = await visit(url, tenant, fields);
    const isComplete = result.kind === "plain" || (result.kind === "stream" && result.chat.done !== undefined);
    if (!isComplete) incomplete++;
    const outcome = outcomeOf(result);
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    visits++;
  }

  async function injectFaults(): Promise<void> {
    for (let round = 0; !isOver(); round++) {
      await sleep(3_000);
      const proxy = setup.proxies[round % setup.proxies.length] as TcpProxy;
      const fault = round % 5;
      if (fault === 0) proxy.resetAll();
      else if (fault === 1) proxy.latency(40);
      else if (fault === 2) proxy.stall();
      else if (fault === 3) setup.pauseRedis();
      else proxy.cutAfterBytes(5_000);
      await sleep(2_000);
      await proxy.resume();
      setup.resumeRedis();
    }
  }

  async function sampleMemory(): Promise<void> {
    for (let sample = 1; !isOver(); sample++) {
      await sleep(SAMPLE_MS);
      const at = performance.now() - startedAt;
      const resident = await Promise.all(services.map(readResidentBytes));
      for (const [index, bytes] of resident.entries()) samples[index]?.push([at, bytes]);
      // The fake provider's recorded requests would fill this process's memory.
      system.provider.requests.length = 0;
      // Every minute.
      if (sample % 30 === 0)
        options.progress(`${visits} visits; MiB: ${resident.map((bytes) => Math.round(bytes / MIB)).join(" ")}`);
    }
  }

  const visitors = Array.from({ length: options.visitors }, (_, visitor) => sendMessages(visitor));
  await Promise.all([injectFaults(), sampleMemory(), ...visitors]);
  options.progress(`${visits} visits; waiting for settlement`);
  const balance = await waitUntilSettled(system.database, SETTLE_TIMEOUT_MS);
  const open = await Promise.all(system.edges.map((edge) => readMetric(edge, "parley_streams_open")));
  return {
    outcomes,
    disconnected,
    hangs,
    incomplete,
    openStreams: open.reduce((sum, each) => sum + each, 0),
    balance,
    memory: Object.fromEntries(services.map(({ name }, index) => [`${name} ${index}`, samples[index] ?? []])),
  };
}

async function requestWidgetConfig(url: string, { publicKey, origin }: Tenant): Promise<void> {
  const response = await fetch(`${url}/api/widget/config/?public_key=${publicKey}`, { headers: { origin } });
  await response.text();
}

async function disconnectEarly(url: string, tenant: Tenant): Promise<void> {
  const init = { headers: { "x-forwarded-for": newClientAddress() } };
  const response = await postChat(url, tenant, {}, init).catch(() => undefined);
  if (response?.status !== 200) return void (await response?.text());
  let events = 0;
  try {
    for await (const _ of readSse(response)) if (++events > 3) break;
  } catch {
    // The connection may break before the fourth event.
  }
}
