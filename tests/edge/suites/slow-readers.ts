import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { figure } from "@parley/test-support";
import { expect, test } from "vitest";
import { metric, residentBytes } from "../../system/metrics.ts";
import { chatBytes, dial } from "../../system/raw-http.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import { FLOOD_TOKENS } from "../scripted-faults.ts";

const READERS = figure(20, 500);
const STREAM_BYTES = 64 * 1024;
/** What a process that does nothing may grow by all the same. */
const IDLE_GROWTH_BYTES = 32 * 1024 * 1024;

/**
 * Nobody waits for so long; a reader that does fails the test. Of many, the kernel takes more for those who are left whenever one is cut, and
 * so they come in waves.
 */
const GIVE_UP_MS = figure(120_000, 300_000);
/**
 * Hundreds of them take all the memory that the kernel has for TCP. A provider's connection may then stand still for so long that the turn ends
 * as one that timed out, before its reader can be cut.
 */
const MAY_END_OTHERWISE = figure(0, READERS / 100);

export type SlowReaders = {
  /** What waited in the edge for all of them together, at most. */
  bufferedBytes: number;
  /** What the edge grew by from the moment that no token could go anywhere. */
  grownBytes: number;
  /** How many tokens the provider could get rid of, at most, for one reader. */
  mostTokens: number;
  /** From the beginning, when the reader stopped reading, until it was cut; each one's. */
  cutAfterMs: number[];
  /** From the provider's last token for a reader until that was cut; each one's. */
  cutAfterTokenMs: number[];
  stalled: number;
  /** Streams that are left. */
  open: number;
};

/** Opens streams of a model that writes as fast as it is read, and reads nothing of them. */
export async function beginSlowReaders(system: System): Promise<SlowReaders> {
  const [edge, tenant] = await Promise.all([
    system.startEdge({ MAX_STREAMS_PER_CLIENT: "1000" }),
    createTenant(system.admin, { plan: "scale", model: "openai:flood" }),
  ]);
  const startedAt = performance.now();
  const over = Promise.withResolvers<void>();
  const lastTokenAt = (message: string) =>
    system.provider.requests.find(({ body }) => (body as Asked).messages.at(-1)?.content === message)?.lastTokenAt ?? 0;
  const readers = Array.from({ length: READERS }, async (_, reader) => {
    const message = `flood ${reader}`;
    if (!(await askAndReadNothing(edge.port, tenant, message, over.promise))) return [];
    return [{ afterMs: performance.now() - startedAt, afterTokenMs: Date.now() - lastTokenAt(message) }];
  });
  const cuts = Promise.all(readers);
  const sentTokens = () =>
    system.provider.requests.filter(({ model }) => model === "flood").map((each) => each.tokensSent);
  await standstill(sentTokens);
  const before = await residentBytes(edge);
  let bufferedBytes = 0;
  let grownBytes = 0;
  const stalled = () => metric(edge, "parley_streams_stalled_total");
  // To end a stream takes memory of its own.
  for (let look = 0; look < 8 && (await stalled()) === 0; look++) {
    grownBytes = Math.max(grownBytes, (await residentBytes(edge)) - before);
    bufferedBytes = Math.max(bufferedBytes, await metric(edge, "parley_streams_buffered_bytes"));
    await sleep(1_000);
  }
  const mostTokens = Math.max(...sentTokens());
  const open = () => metric(edge, "parley_streams_open");
  const until = startedAt + GIVE_UP_MS;
  while ((await open()) > 0 && performance.now() < until) await sleep(500);
  // Who was cut has time to see it.
  await sleep(1_000);
  over.resolve();
  const cut = (await cuts).flat();
  return {
    bufferedBytes,
    grownBytes,
    mostTokens,
    cutAfterMs: cut.map(({ afterMs }) => afterMs),
    cutAfterTokenMs: cut.map(({ afterTokenMs }) => afterTokenMs),
    stalled: await stalled(),
    open: await open(),
  };
}

type Asked = { messages: readonly { content: string }[] };

/** Whether a visitor who asks, and then reads nothing but goes on sending, was cut before it was over. */
async function askAndReadNothing(port: number, tenant: Tenant, message: string, over: Promise<void>): Promise<boolean> {
  const { socket, closed } = dial(port, { reads: false });
  socket.pause();
  const fields = { public_key: tenant.publicKey, session_id: randomUUID(), message };
  socket.write(chatBytes(fields, { origin: tenant.origin, "x-forwarded-for": newAddress() }));
  // A paused socket does not see its end; one that writes does.
  const poke = setInterval(() => socket.write("\r\n"), 500);
  const isCut = await Promise.race([closed.then(() => true), over.then(() => false)]);
  clearInterval(poke);
  socket.destroy();
  return isCut;
}

/** Waits until no token has gone anywhere for two seconds: all that the system takes for its readers is taken. */
async function standstill(sentTokens: () => number[]): Promise<void> {
  const until = performance.now() + GIVE_UP_MS;
  for (let last = ""; performance.now() < until; ) {
    const now = sentTokens().join();
    if (now === last && sentTokens().length === READERS) return;
    last = now;
    await sleep(2_000);
  }
}

export function slowReadersSuite(begun: () => Promise<SlowReaders>): void {
  test(`${READERS} readers that read nothing: the provider waits, memory is bounded, and each is cut after 30 s`, async () => {
    const { bufferedBytes, grownBytes, mostTokens, cutAfterMs, cutAfterTokenMs, stalled, open } = await begun();
    expect(open).toBe(0);
    expect(cutAfterMs.length).toBeGreaterThanOrEqual(READERS - MAY_END_OTHERWISE);
    expect(mostTokens).toBeLessThan(FLOOD_TOKENS);
    expect(bufferedBytes).toBeGreaterThan(0);
    expect(bufferedBytes).toBeLessThanOrEqual(READERS * STREAM_BYTES);
    expect(grownBytes).toBeLessThan(IDLE_GROWTH_BYTES);
    expect(Math.min(...cutAfterMs)).toBeGreaterThan(29_000);
    expect(Math.max(...cutAfterMs)).toBeLessThan(figure(50_000, GIVE_UP_MS));
    expect(Math.max(...cutAfterTokenMs)).toBeLessThan(50_000);
    expect(stalled).toBe(cutAfterMs.length);
  });
}
