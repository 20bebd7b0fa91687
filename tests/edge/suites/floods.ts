import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { figure, nodeFlags, startProcess } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { metric } from "../../system/metrics.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import type { EdgeStage } from "../edge-stage.ts";

const FLOOD = fileURLToPath(new URL("../flood.ts", import.meta.url));
const MAX_DELAY_MS = 50;
const ROUND_MS = figure(3_000, 30_000);
/** In the short form there are three: a flood that stalls the edge does so in each, a machine that is busy does not. */
const ROUNDS = figure(3, 1);

/** What it costs the others when callers send bodies that are costly to read. */
export function floodsSuite(shared: () => EdgeStage): void {
  let edge: ServiceProcess;
  beforeAll(async () => {
    edge = await shared().system.startEdge({});
  });

  /** How long another client waits for an answer, at p99. */
  async function p99Ms(): Promise<number> {
    const times: number[] = [];
    const until = performance.now() + ROUND_MS;
    for (let startedAt = 0; startedAt < until; ) {
      startedAt = performance.now();
      await (await fetch(`http://127.0.0.1:${edge.port}/healthz/live`)).text();
      times.push(performance.now() - startedAt);
      await sleep(5);
    }
    times.sort((a, b) => a - b);
    return times[Math.ceil(times.length * 0.99) - 1] ?? 0;
  }

  test.each([
    ["one address", "one", "rate_limited"],
    ["an address each", "many", "invalid_message"],
  ])(
    "16 connections that send costly bodies from %s delay another client by 50 ms at most",
    async (_, addresses, code) => {
      const refused = () => metric(edge, "parley_requests_refused_total", { code });
      const before = await refused();
      const args = [...nodeFlags, FLOOD, String(edge.port), addresses];
      const flood = await startProcess({ name: "flood", command: process.execPath, args, ready: /flooding/ });
      const rounds: number[] = [];
      try {
        await flood.waitReady();
        for (let round = 0; round < ROUNDS; round++) rounds.push(await p99Ms());
      } finally {
        await flood.stop();
      }
      expect(Math.min(...rounds), `p99 of each round: ${rounds.join(" ")} ms`).toBeLessThanOrEqual(MAX_DELAY_MS);
      // The bodies arrived, and were refused by the limit or each by itself.
      expect((await refused()) - before).toBeGreaterThan(100);
    },
  );
}
