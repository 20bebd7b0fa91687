import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describeWith } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readBalance } from "../system/database.ts";
import { readMetric, readPeakMib } from "../system/metrics.ts";
import { formatChatRequest, openConnection } from "../system/raw-http.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { newClientAddress, TRUST_FORWARDED_FOR } from "../system/visitors.ts";

const STREAMS = 50;
/**
 * A reply has 2.7 MB. Three ends are possible:
 * - The kernel's buffers hold the unread reply, and the turn ends with `stop`.
 * - The buffers are too small, because the kernel sizes them by what earlier connections needed. The edge cuts the stream after 30 s.
 * - The machine is too slow to store all 135 MB in time. After STORE_LIMIT_MS, the edge ends the reply with `internal_error`.
 */
const TOKENS = 900;
const TOKEN_CHARACTERS = 3_000;
/** How long an edge tries to store a reply as `done`: see docs/quota.md. */
const STORE_LIMIT_MS = 4_000;
const MIB = 1024 * 1024;
/** Each stream may use twice the size of its reply, because the garbage collector frees memory late. 160 MiB are for everything else. */
const BOUND_MIB = (2 * STREAMS * TOKENS * TOKEN_CHARACTERS) / MIB + 160;

/** Without this limit, the garbage collector may let the heap grow for as long as the machine has free memory. */
const BOUNDED_HEAP = "--max-old-space-size=256";

/** Returns how long the edge tried to store each reply that ended with an error, in milliseconds. */
function readFailedCloseTimes(log: string): number[] {
  const failures = log.split("\n").filter((line) => line.includes('"message":"turn failed"'));
  return failures.map((line) => (JSON.parse(line) as { phases_ms: { close: number } }).phases_ms.close);
}

describeWith("proc", "streams that nobody reads", () => {
  let system: System;
  beforeAll(async () => {
    const reply = { tokens: Array.from({ length: TOKENS }, () => "x".repeat(TOKEN_CHARACTERS)) };
    system = await startSystem({
      script: () => reply,
      // At the level debug, the log contains every failed turn: see readFailedCloseTimes.
      env: { edge: { ...TRUST_FORWARDED_FOR, LOG_LEVEL: "debug", NODE_OPTIONS: BOUNDED_HEAP } },
      llmConfig: (base_url) => ({
        default_model: "openai:default",
        providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY", concurrency: { max_active: 2 * STREAMS } } },
      }),
    });
  });
  afterAll(() => system.stop());

  test(`use at most 160 MiB plus twice the size of ${STREAMS} replies of 2.7 MB, even if all replies end at the same time`, async () => {
    const [edge] = system.edges;
    if (edge === undefined) throw new Error("there is no edge");
    const tenant: Tenant = await createTenant(system.admin, { plan: "scale" });
    const idleMib = await readPeakMib(edge.process().pid);
    const clients = Array.from({ length: STREAMS }, () => {
      const { socket } = openConnection(edge.port, { reads: false });
      socket.pause();
      const fields = { public_key: tenant.publicKey, session_id: randomUUID(), message: "Hello" };
      socket.write(formatChatRequest(fields, { origin: tenant.origin, "x-forwarded-for": newClientAddress() }));
      return socket;
    });
    // Waits for ended replies, because a poll could miss the short time in which all streams are open.
    const readTurns = (finish: string, code = "") => readMetric(edge, "parley_turns_total", { finish, code });
    const readEnded = async () =>
      (await readTurns("stop")) + (await readTurns("cancelled")) + (await readTurns("error", "internal_error"));
    await expect.poll(readEnded, { timeout: 240_000, interval: 500 }).toBe(STREAMS);
    for (const closeMs of readFailedCloseTimes(edge.outputs())) expect(closeMs).toBeGreaterThanOrEqual(STORE_LIMIT_MS);
    expect(await readTurns("cancelled")).toBeLessThanOrEqual(await readMetric(edge, "parley_streams_stalled_total"));
    await expect.poll(() => readMetric(edge, "parley_streams_open"), { timeout: 60_000, interval: 500 }).toBe(0);
    for (const socket of clients) socket.destroy();
    await expect
      .poll(() => readBalance(system.database, tenant.workspaceId), { timeout: 60_000, interval: 500 })
      .toMatchObject({ held: 0, outbox: 0, unbalanced: 0, streaming: 0 });
    await sleep(500);
    const grownMib = (await readPeakMib(edge.process().pid)) - idleMib;
    console.info(
      `${STREAMS} unread streams: the edge grew by ${grownMib.toFixed(0)} of at most ${BOUND_MIB.toFixed(0)} MiB`,
    );
    expect(grownMib).toBeLessThan(BOUND_MIB);
  }, 300_000);
});
