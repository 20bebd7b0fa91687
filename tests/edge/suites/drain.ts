import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { quickOrFull } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat, readChat } from "../../system/chat.ts";
import { query } from "../../system/database.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

const ROUNDS = quickOrFull(1, 20);
const VISITORS = 6;

/** Stops one replica at a time with SIGTERM under load, and restarts it. */
export function drainSuite(shared: () => EdgeFixture): void {
  let system: System;
  let tenant: Tenant;
  let edges: ServiceProcess[];
  let second: Record<"conversation" | "quota" | "llm", ServiceProcess>;

  beforeAll(async () => {
    ({ system } = shared());
    const [conversation, quota, llm] = await Promise.all([
      system.startReplica("conversation"),
      system.startReplica("quota"),
      system.startReplica("llm-proxy"),
    ]);
    second = { conversation, quota, llm };
    const both = (name: keyof typeof second) => `ipv4:127.0.0.1:${system[name].port},127.0.0.1:${second[name].port}`;
    const env = {
      CONVERSATION_TARGET: both("conversation"),
      QUOTA_TARGET: both("quota"),
      LLM_TARGET: both("llm"),
    };
    edges = await Promise.all([system.startEdge(env), system.startEdge(env)]);
    tenant = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-30-every-20" });
  });

  type LoadResult = { complete: number; refused: number; failures: string[] };

  /** Chats until `stop` is called, alternating between the edges as a load balancer does. */
  function load(): { stop(): Promise<LoadResult> } {
    const result: LoadResult = { complete: 0, refused: 0, failures: [] };
    let isStopped = false;
    const visitor = async (number: number) => {
      for (let turn = number; !isStopped; turn++) {
        const url = `http://127.0.0.1:${edges[turn % 2]?.port}`;
        const init = { headers: { "x-forwarded-for": newAddress() } };
        const response = await postChat(url, tenant, {}, init).catch(() => undefined);
        if (response?.status === 200) {
          const chat = await readChat(response).catch((error: unknown) => String(error));
          const finish = typeof chat === "string" ? chat : String(chat.done?.finish_reason);
          if (finish === "stop") result.complete++;
          else result.failures.push(finish);
        } else {
          const text = await response?.text();
          if (response === undefined || text === '{"error":"unavailable"}') result.refused++;
          else result.failures.push(`${response.status} ${text}`);
          await sleep(20);
        }
      }
    };
    const visitors = Promise.all(Array.from({ length: VISITORS }, (_, number) => visitor(number)));
    return {
      async stop() {
        isStopped = true;
        await visitors;
        return result;
      },
    };
  }

  async function restartUnderLoad(service: ServiceProcess): Promise<LoadResult> {
    const visitors = load();
    await sleep(500);
    for (let round = 0; round < ROUNDS; round++) {
      const exit = await service.process().stop("SIGTERM", 30_000);
      expect(exit).toEqual({ code: 0, signal: null });
      await service.start();
      await sleep(300);
    }
    return visitors.stop();
  }

  test.each(["conversation", "quota", "llm"] as const)(
    "every stream completes and none is refused while a replica of %s restarts",
    async (name) => {
      const { complete, refused, failures } = await restartUnderLoad(second[name]);
      expect(failures).toEqual([]);
      expect(refused).toBe(0);
      expect(complete).toBeGreaterThan(VISITORS);
    },
  );

  test("every open stream completes while an edge restarts", async () => {
    const { complete, failures } = await restartUnderLoad(edges[0] as ServiceProcess);
    expect(failures).toEqual([]);
    expect(complete).toBeGreaterThan(VISITORS);
  });

  test("a stream that outlasts the edge's drain ends with error and done, and its turn is stored as failed", async () => {
    const edge = await system.startEdge({ DRAIN_MS: "1000" });
    const endless = await createTenant(system.admin, { model: "openai:tokens-10000-every-50" });
    const url = `http://127.0.0.1:${edge.port}`;
    const session_id = randomUUID();
    const init = { headers: { "x-forwarded-for": newAddress() } };
    const streams = await Promise.all([postChat(url, endless, { session_id }, init), postChat(url, endless, {}, init)]);
    const ready = async () => (await fetch(`${url}/healthz/ready`)).status;
    expect(await ready()).toBe(200);
    const exited = edge.process().stop("SIGTERM", 10_000);
    await expect.poll(ready).toBe(503);
    const refused = await postChat(url, endless, {}, init);
    expect([refused.status, refused.headers.get("connection"), await refused.text()]).toEqual([
      503,
      "close",
      '{"error":"unavailable"}',
    ]);
    for (const stream of streams) {
      const { events, done } = await readChat(stream);
      expect(events.slice(-2).map(({ event }) => event)).toEqual(["error", "done"]);
      expect(done?.finish_reason).toBe("error");
    }
    expect(await exited).toEqual({ code: 0, signal: null });
    const { statuses } = await query<{ statuses: string[] }>(
      system.database,
      "SELECT array_agg(status) AS statuses FROM conversation.turns WHERE workspace_id = $1",
      [endless.workspaceId],
    );
    expect(statuses).toEqual(["error", "error"]);
  });
}
