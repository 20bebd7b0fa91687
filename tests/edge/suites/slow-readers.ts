import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { quickOrFull } from "@parley/test-support";
import { expect, test } from "vitest";
import { readMetric, readResidentBytes } from "../../system/metrics.ts";
import { formatChatRequest, openConnection } from "../../system/raw-http.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import { FLOOD_TOKENS } from "../scripted-faults.ts";

const READERS = quickOrFull(20, 500);
/** The most that the edge may buffer for one reader. */
const MAX_BUFFERED_BYTES = 64 * 1024;
/** Even the memory of an idle process may grow this much. */
const MAX_GROWTH_BYTES = 32 * 1024 * 1024;

/**
 * Maximum time until the edge has cut every reader. The edge cuts a reader after 30 s without progress. Each cut frees kernel buffers, so the
 * edge can write to other readers, whose 30 s then start again.
 */
const GIVE_UP_MS = quickOrFull(120_000, 300_000);
/**
 * Number of readers whose turn may time out before the edge cuts them. Hundreds of readers use up the kernel's TCP memory, so a provider
 * connection may stall.
 */
const MAX_TIMED_OUT = quickOrFull(0, READERS / 100);

export type SlowReadersResult = {
  /** The most bytes that the edge buffered for all readers together. */
  bufferedBytes: number;
  /** Growth of the edge's memory after all buffers were full. */
  grownBytes: number;
  /** The most tokens that the provider sent for one reader. */
  mostTokens: number;
  /** For each reader that was cut: the time from the start until the cut. */
  cutAfterMs: number[];
  /** For each reader that was cut: the time from the provider's last token until the cut. */
  cutAfterTokenMs: number[];
  /** Number of streams that the edge cut because their client did not read (parley_streams_stalled_total). */
  stalled: number;
  openStreams: number;
};

/** Opens streams from a model that writes as fast as possible, and never reads them. Waits until the edge has cut every stream. */
export async function runSlowReaders(system: System): Promise<SlowReadersResult> {
  const [edge, tenant] = await Promise.all([
    system.startEdge({ MAX_STREAMS_PER_CLIENT: "1000" }),
    createTenant(system.admin, { plan: "scale", model: "openai:flood" }),
  ]);
  const startedAt = performance.now();
  const testEnd = Promise.withResolvers<void>();
  const lastTokenAt = (message: string) =>
    system.provider.requests.find(({ body }) => (body as ChatRequest).messages.at(-1)?.content === message)
      ?.lastTokenAt ?? 0;
  const readers = Array.from({ length: READERS }, async (_, reader) => {
    const message = `flood ${reader}`;
    if (!(await chatWithoutReading(edge.port, tenant, message, testEnd.promise))) return [];
    return [{ afterMs: performance.now() - startedAt, afterTokenMs: Date.now() - lastTokenAt(message) }];
  });
  const cuts = Promise.all(readers);
  const sentTokens = () =>
    system.provider.requests.filter(({ model }) => model === "flood").map((each) => each.tokensSent);
  await waitForFullBuffers(sentTokens);
  const bytesBefore = await readResidentBytes(edge);
  let bufferedBytes = 0;
  let grownBytes = 0;
  const stalled = () => readMetric(edge, "parley_streams_stalled_total");
  // Stops measuring at the first cut, because ending a stream allocates memory.
  for (let sample = 0; sample < 8 && (await stalled()) === 0; sample++) {
    grownBytes = Math.max(grownBytes, (await readResidentBytes(edge)) - bytesBefore);
    bufferedBytes = Math.max(bufferedBytes, await readMetric(edge, "parley_streams_buffered_bytes"));
    await sleep(1_000);
  }
  const mostTokens = Math.max(...sentTokens());
  const openStreams = () => readMetric(edge, "parley_streams_open");
  const until = startedAt + GIVE_UP_MS;
  while ((await openStreams()) > 0 && performance.now() < until) await sleep(500);
  // Waits until the readers' next writes detect the cut.
  await sleep(1_000);
  testEnd.resolve();
  const cut = (await cuts).flat();
  return {
    bufferedBytes,
    grownBytes,
    mostTokens,
    cutAfterMs: cut.map(({ afterMs }) => afterMs),
    cutAfterTokenMs: cut.map(({ afterTokenMs }) => afterTokenMs),
    stalled: await stalled(),
    openStreams: await openStreams(),
  };
}

type ChatRequest = { messages: readonly { content: string }[] };

/** Sends a chat and never reads the reply. Returns whether the edge cut the connection before `testEnd` resolved. */
async function chatWithoutReading(
  port: number,
  tenant: Tenant,
  message: string,
  testEnd: Promise<void>,
): Promise<boolean> {
  const { socket, closed } = openConnection(port, { reads: false });
  socket.pause();
  const fields = { public_key: tenant.publicKey, session_id: randomUUID(), message };
  socket.write(formatChatRequest(fields, { origin: tenant.origin, "x-forwarded-for": newClientAddress() }));
  // A paused socket must write to detect that the edge closed it.
  const poke = setInterval(() => socket.write("\r\n"), 500);
  const isCut = await Promise.race([closed.then(() => true), testEnd.then(() => false)]);
  clearInterval(poke);
  socket.destroy();
  return isCut;
}

/** Waits until the provider sends no token for two seconds: then every buffer is full. Throws after GIVE_UP_MS. */
async function waitForFullBuffers(sentTokens: () => number[]): Promise<void> {
  const until = performance.now() + GIVE_UP_MS;
  for (let last = ""; ; ) {
    const now = sentTokens().join();
    if (now === last && sentTokens().length === READERS) return;
    if (performance.now() > until)
      throw new Error(`after ${GIVE_UP_MS} ms, the provider still sends tokens or has too few requests: ${now}`);
    last = now;
    await sleep(2_000);
  }
}

export function slowReadersSuite(getResult: () => Promise<SlowReadersResult>): void {
  test(`${READERS} clients that do not read: the provider waits, memory stays bounded, and the edge cuts each stream after 30 s`, async () => {
    const { bufferedBytes, grownBytes, mostTokens, cutAfterMs, cutAfterTokenMs, stalled, openStreams } =
      await getResult();
    expect(openStreams).toBe(0);
    expect(cutAfterMs.length).toBeGreaterThanOrEqual(READERS - MAX_TIMED_OUT);
    expect(mostTokens).toBeLessThan(FLOOD_TOKENS);
    expect(bufferedBytes).toBeGreaterThan(0);
    expect(bufferedBytes).toBeLessThanOrEqual(READERS * MAX_BUFFERED_BYTES);
    expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
    expect(Math.min(...cutAfterMs)).toBeGreaterThan(29_000);
    expect(Math.max(...cutAfterMs)).toBeLessThan(quickOrFull(50_000, GIVE_UP_MS));
    expect(Math.max(...cutAfterTokenMs)).toBeLessThan(50_000);
    expect(stalled).toBe(cutAfterMs.length);
  });
}
