import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { figure } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat, readChat } from "../../system/chat.ts";
import { query } from "../../system/database.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeStage } from "../edge-stage.ts";

const ROUNDS = figure(1, 20);
const VISITORS = 6;

/** SIGTERM under load, one replica at a time. */
export function drainSuite(shared: () => EdgeStage): void {
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

  type Ends = { whole: number; refused: number; lost: string[] };

  /** Visitors who talk until told to stop. Who is refused by one edge goes to the other, as a load balancer would. */
  function load(): { stop(): Promise<Ends> } {
    const ends: Ends = { whole: 0, refused: 0, lost: [] };
    let stopped = false;
    const visitor = async (number: number) => {
      for (let turn = number; !stopped; turn++) {
        const url = `http://127.0.0.1:${edges[turn % 2]?.port}`;
        const init = { headers: { "x-forwarded-for": newAddress() } };
        const response = await postChat(url, tenant, {}, init).catch(() => undefined);
        if (response?.status === 200) {
          const result = await readChat(response).catch((error: unknown) => String(error));
          const finish = typeof result === "string" ? result : String(result.done?.finish_reason);
          if (finish === "stop") ends.whole++;
          else ends.lost.push(finish);
        } else {
          const text = await response?.text();
          if (response === undefined || text === '{"error":"unavailable"}') ends.refused++;
          else ends.lost.push(`${response.status} ${text}`);
          await sleep(20);
        }
      }
    };
    const visitors = Promise.all(Array.from({ length: VISITORS }, (_, number) => visitor(number)));
    return {
      async stop() {
        stopped = true;
        await visitors;
        return ends;
      },
    };
  }

  async function restartUnderLoad(service: ServiceProcess): Promise<Ends> {
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
    "a replica of %s leaves and comes back: every stream is whole, and none is refused",
    async (name) => {
      const { whole, refused, lost } = await restartUnderLoad(second[name]);
      expect(lost).toEqual([]);
      expect(refused).toBe(0);
      expect(whole).toBeGreaterThan(VISITORS);
    },
  );

  test("an edge leaves and comes back: the streams it has are whole, new ones are refused", async () => {
    const { whole, lost } = await restartUnderLoad(edges[0] as ServiceProcess);
    expect(lost).toEqual([]);
    expect(whole).toBeGreaterThan(VISITORS);
  });

  test("what outlasts an edge's grace period ends with error and done, is stored as such, and not counted", async () => {
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
