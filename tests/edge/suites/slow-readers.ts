import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { figure } from "../../support/full.ts";
import { metric, residentBytes } from "../../support/metrics.ts";
import { chatBytes, dial } from "../../support/raw-http.ts";
import { createTenant, type System } from "../../support/system.ts";
import { newAddress } from "../../support/visitors.ts";
import { FLOOD_TOKENS } from "../scripted-faults.ts";

const READERS = figure(20, 500);
const STREAM_BYTES = 64 * 1024;
/** What a process that does nothing may grow by all the same. */
const IDLE_GROWTH_BYTES = 32 * 1024 * 1024;

/** Nobody waits for so long; a reader that does fails the test. */
const GIVE_UP_MS = 120_000;

export type SlowReaders = {
  /** What waited in the edge for all of them together, at most. */
  bufferedBytes: number;
  /** What the edge grew by from the moment that no token could go anywhere. */
  grownBytes: number;
  /** How many tokens the provider could get rid of, at most, for one reader. */
  mostTokens: number;
  /** From the moment a reader stopped reading; each one's. */
  cutAfterMs: number[];
  stalled: number;
};

/** Opens streams of a model that writes as fast as it is read, and reads nothing of them. */
export async function beginSlowReaders(system: System): Promise<SlowReaders> {
  const [edge, tenant] = await Promise.all([
    system.startEdge({ MAX_STREAMS_PER_CLIENT: "1000" }),
    createTenant(system.admin, { plan: "scale", model: "openai:flood" }),
  ]);
  const startedAt = performance.now();
  const readers = Array.from({ length: READERS }, async () => {
    const client = dial(edge.port, { reads: false });
    client.socket.pause();
    const fields = { public_key: tenant.publicKey, session_id: randomUUID(), message: "flood" };
    client.socket.write(chatBytes(fields, { origin: tenant.origin, "x-forwarded-for": newAddress() }));
    // A paused socket does not see its end; one that writes does.
    const poke = setInterval(() => client.socket.write("\r\n"), 500);
    await Promise.race([client.closed, sleep(GIVE_UP_MS)]);
    clearInterval(poke);
    client.socket.destroy();
    return performance.now() - startedAt;
  });
  const cuts = Promise.all(readers);
  const sentTokens = () =>
    system.provider.requests.filter(({ model }) => model === "flood").map((each) => each.tokensSent);
  await standstill(sentTokens);
  const before = await residentBytes(edge);
  let bufferedBytes = 0;
  for (let look = 0; look < 8; look++) {
    await sleep(1_000);
    bufferedBytes = Math.max(bufferedBytes, await metric(edge, "parley_streams_buffered_bytes"));
  }
  const grownBytes = (await residentBytes(edge)) - before;
  const mostTokens = Math.max(...sentTokens());
  const cutAfterMs = await cuts;
  return {
    bufferedBytes,
    grownBytes,
    mostTokens,
    cutAfterMs,
    stalled: await metric(edge, "parley_streams_stalled_total"),
  };
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
    const { bufferedBytes, grownBytes, mostTokens, cutAfterMs, stalled } = await begun();
    expect(cutAfterMs).toHaveLength(READERS);
    expect(mostTokens).toBeLessThan(FLOOD_TOKENS);
    expect(bufferedBytes).toBeGreaterThan(0);
    expect(bufferedBytes).toBeLessThanOrEqual(READERS * STREAM_BYTES);
    expect(grownBytes).toBeLessThan(IDLE_GROWTH_BYTES);
    expect(Math.min(...cutAfterMs)).toBeGreaterThan(29_000);
    expect(Math.max(...cutAfterMs)).toBeLessThan(figure(50_000, 90_000));
    expect(stalled).toBe(READERS);
  });
}
