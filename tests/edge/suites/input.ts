import { setTimeout as sleep } from "node:timers/promises";
import { quickOrFull } from "@parley/test-support";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { mapConcurrently } from "../../system/map-concurrently.ts";
import { readMetric } from "../../system/metrics.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

const BODIES = quickOrFull(2_000, 100_000);
/**
 * The quick run checks the best of four rounds: a busy machine stalls the edge in some rounds, but bodies that stall it do so in every round. The
 * full run has one long round, because a short stall does not change the p99 of a long round.
 */
const ROUNDS = quickOrFull(4, 1);
const MAX_LAG_SECONDS = 0.05;

export function inputSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  beforeAll(() => {
    fixture = shared();
  });

  test(`${BODIES} generated bodies cause no 5xx response and no event loop stall`, async () => {
    const { system, tenant } = fixture;
    const [edge] = system.edges;
    if (edge === undefined) throw new Error("no edge");
    const seed = Math.floor(Math.random() * 2 ** 31);
    const bodies = fc.sample(body(tenant.publicKey), { numRuns: BODIES, seed });
    // Generating the bodies blocked this process's event loop. The pause lets fetch detect the connections that the edge closed meanwhile.
    await sleep(100);
    // The edge resets this metric at each read.
    const readEventLoopLag = () => readMetric(edge, "nodejs_eventloop_lag_p99_seconds");
    const lags: number[] = [];
    const send = async (index: number): Promise<number> => {
      const bytes = bodies[index] ?? new Uint8Array();
      const response = await fetch(`${system.url()}${PATHS[index % PATHS.length]}`, {
        method: "POST",
        headers: { origin: tenant.origin, "x-forwarded-for": newClientAddress() },
        body: bytes as unknown as string,
      });
      const text = await response.text();
      const label = `seed ${seed}, ${index}: ${Buffer.from(bytes).toString("latin1").slice(0, 300)} → ${text}`;
      expect(response.status, label).toBeLessThan(500);
      if (response.status !== 200 && response.status !== 204)
        expect(JSON.parse(text), label).toEqual({ error: expect.any(String) });
      return response.status;
    };
    const statuses: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const size = BODIES / ROUNDS;
      await readEventLoopLag();
      statuses.push(...(await mapConcurrently(size, 16, (index) => send(round * size + index))));
      lags.push(await readEventLoopLag());
    }
    // At least 1 % of the bodies must be valid, or the test would prove little.
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(BODIES / 100);
    expect(Math.min(...lags), `p99 of each round: ${lags.join(" ")} s`).toBeLessThanOrEqual(MAX_LAG_SECONDS);
  });
}

const PATHS = ["/api/chat/", "/api/chat/", "/api/chat/", "/api/chat/rating/"];

/** Generates mostly near-valid requests, sometimes arbitrary JSON, sometimes arbitrary bytes. */
function body(publicKey: string): fc.Arbitrary<Uint8Array> {
  const anyText = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), surrogates, longText);
  const anyJson = fc.jsonValue({ depthSize: "medium", stringUnit: "binary" });
  const fieldOrAnything = (good: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: fc.oneof(anyText, anyJson) });
  const request = fc.record(
    {
      public_key: fieldOrAnything(fc.constant(publicKey)),
      session_id: fieldOrAnything(fc.uuid()),
      message: fieldOrAnything(fc.oneof(fc.string({ minLength: 1 }), anyText)),
      visitor_id: fieldOrAnything(anyText),
      visitor_metadata: fieldOrAnything(fc.dictionary(fc.oneof(anyText, fc.constantFrom(...BAD_KEYS)), anyJson)),
      message_id: fieldOrAnything(fc.oneof(fc.integer(), fc.bigInt().map(String))),
      rating: fieldOrAnything(fc.constantFrom("up", "down", "")),
    },
    { requiredKeys: ["public_key", "session_id", "message"] },
  );
  const json = fc.oneof(
    { weight: 8, arbitrary: request.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: anyJson.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 20_000 }).map((levels) => "[".repeat(levels)) },
  );
  const utf8 = json.map((value) => new TextEncoder().encode(value));
  return fc.oneof(
    { weight: 8, arbitrary: utf8 },
    // Truncated JSON.
    { weight: 1, arbitrary: fc.tuple(utf8, fc.nat()).map(([bytes, at]) => bytes.slice(0, at % (bytes.length + 1))) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(utf8, fc.nat(), fc.nat({ max: 255 }))
        .map(([bytes, at, byte]) => replaceByte(bytes, at, byte)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 500 }) },
  );
}

const BAD_KEYS = ["__proto__", "constructor", "prototype", "toString", "\u0000", ""];

const surrogates = fc.array(fc.integer({ min: 0xd7f0, max: 0xe010 })).map((units) => String.fromCharCode(...units));
const longText = fc.integer({ min: 3_990, max: 70_000 }).map((length) => "é".repeat(length));

function replaceByte(bytes: Uint8Array, at: number, byte: number): Uint8Array {
  const copy = bytes.slice();
  if (copy.length > 0) copy[at % copy.length] = byte;
  return copy;
}
