import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { quickOrFull } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat, readChat } from "../../system/chat.ts";
import { queryFirstRow } from "../../system/database.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type System, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

const ROUNDS = quickOrFull(1, 20);
const VISITORS = 6;

/** Stops one replica at a time with SIGTERM under load, and restarts it. */
export function drainSuite(shared: () => EdgeFixture): void {
  let system: System;
  let tenant: Tenant;
  let edges: ServiceProcess[];
  let replicas: Record<"conversation" | "quota" | "llm", ServiceProcess>;

  beforeAll(async () => {
    ({ system } = shared());
    const [conversation, quota, llm] = await Promise.all([
      system.startReplica("conversation"),
      system.startReplica("quota"),
      system.startReplica("llm-proxy"),
    ]);
    replicas = { conversation, quota, llm };
    const targetOfBothReplicas = (name: keyof typeof replicas) =>
      `ipv4:127.0.0.1:${system[name].port},127.0.0.1:${replicas[name].port}`;
    const env = {
      CONVERSATION_TARGET: targetOfBothReplicas("conversation"),
      QUOTA_TARGET: targetOfBothReplicas("quota"),
      LLM_TARGET: targetOfBothReplicas("llm"),
    };
    edges = await Promise.all([system.startEdge(env), system.startEdge(env)]);
    tenant = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-30-every-20" });
  });

  /** `refused` counts the chats that got 503 unavailable or no response. */
  type LoadResult = { complete: number; refused: number; failures: string[] };

  /** Sends chats until `stop` is called. By default, alternates between the edges. */
  function startLoad(urlOfTurn = (turn: number) => urlOf(edges[turn % 2])): { stop(): Promise<LoadResult> } {
    const result: LoadResult = { complete: 0, refused: 0, failures: [] };
    let isStopped = false;
    const sendMessages = async (number: number) => {
      for (let turn = number; !isStopped; turn++) {
        const init = { headers: { "x-forwarded-for": newClientAddress() } };
        const response = await postChat(urlOfTurn(turn), tenant, {}, init).catch(() => undefined);
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
    const visitors = Promise.all(Array.from({ length: VISITORS }, (_, number) => sendMessages(number)));
    return {
      async stop() {
        isStopped = true;
        await visitors;
        return result;
      },
    };
  }

  const urlOf = (edge: ServiceProcess | undefined) => `http://127.0.0.1:${edge?.port}`;

  async function restartUnderLoad(service: ServiceProcess): Promise<LoadResult> {
    const load = startLoad();
    await sleep(500);
    for (let round = 0; round < ROUNDS; round++) {
      const exit = await service.process().stop("SIGTERM", 30_000);
      expect(exit).toEqual({ code: 0, signal: null });
      await service.start();
      await sleep(300);
    }
    return load.stop();
  }

  test.each(["conversation", "quota", "llm"] as const)(
    "every stream completes and none is refused while a replica of %s restarts",
    async (name) => {
      const { complete, refused, failures } = await restartUnderLoad(replicas[name]);
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

  test("no request on a kept-alive connection is lost or refused while an edge restarts", async () => {
    // As a Kubernetes Service does, the load balancer forwards each connection to one edge. fetch keeps its connections open.
    const endpoints = new Set(edges);
    let connections = 0;
    const loadBalancer = createServer((visitor) => {
      const list = [...endpoints];
      const edge = connect(list[connections++ % list.length]?.port ?? 0, "127.0.0.1");
      visitor.pipe(edge).on("error", () => visitor.destroy());
      edge.pipe(visitor).on("error", () => edge.destroy());
    }).listen(0, "127.0.0.1");
    await once(loadBalancer, "listening");
    const { port } = loadBalancer.address() as AddressInfo;
    const load = startLoad(() => `http://127.0.0.1:${port}`);
    await sleep(1_000);
    const [edge] = edges as [ServiceProcess];
    for (let round = 0; round < ROUNDS; round++) {
      endpoints.delete(edge);
      await sleep(300);
      expect(await edge.process().stop("SIGTERM", 30_000)).toEqual({ code: 0, signal: null });
      await edge.start();
      endpoints.add(edge);
      await sleep(1_000);
    }
    const { complete, refused, failures } = await load.stop();
    loadBalancer.close();
    expect({ refused, failures }).toEqual({ refused: 0, failures: [] });
    expect(complete).toBeGreaterThan(VISITORS);
  });

  test("a stopping edge serves the next request of a connection that was idle for less than a tenth of DRAIN_MS, and then closes the connection", async () => {
    const edge = await system.startEdge({ DRAIN_MS: "40000" });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const get = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        request(`${urlOf(edge)}/healthz/live`, { agent }, resolve)
          .on("error", reject)
          .end();
      });
    const first = await get();
    expect(first.headers.connection).toBe("keep-alive");
    const { localPort } = first.socket;
    first.resume();
    await once(first, "end");
    const exited = edge.process().stop("SIGTERM", 10_000);
    await expect.poll(() => edge.outputs()).toContain("stopping");
    await sleep(3_000);
    const second = await get();
    expect([second.statusCode, second.headers.connection]).toEqual([200, "close"]);
    expect(second.socket.localPort).toBe(localPort);
    second.resume();
    await once(second, "close");
    await expect(get()).rejects.toThrow("ECONNREFUSED");
    expect(await exited).toEqual({ code: 0, signal: null });
  });

  test("a stream that outlasts the edge's drain ends with error and done, and its turn is stored as failed", async () => {
    // A draining edge closes a connection that has been idle for 400 ms, a tenth of DRAIN_MS. The readiness requests below come more often, so
    // the edge still serves the first one after SIGTERM.
    const edge = await system.startEdge({ DRAIN_MS: "4000" });
    const endless = await createTenant(system.admin, { model: "openai:tokens-10000-every-50" });
    const url = `http://127.0.0.1:${edge.port}`;
    const session_id = randomUUID();
    const init = { headers: { "x-forwarded-for": newClientAddress() } };
    const streams = await Promise.all([postChat(url, endless, { session_id }, init), postChat(url, endless, {}, init)]);
    const readinessStatus = async () => (await fetch(`${url}/healthz/ready`)).status;
    expect(await readinessStatus()).toBe(200);
    const exited = edge.process().stop("SIGTERM", 20_000);
    await expect.poll(readinessStatus).toBe(503);
    // Connects without fetch: fetch could reuse an open connection, and the edge still serves requests on open connections.
    const connected = once(connect(edge.port, "127.0.0.1"), "connect");
    await expect(connected).rejects.toMatchObject({ code: "ECONNREFUSED" });
    for (const stream of streams) {
      const { events, done } = await readChat(stream);
      expect(events.slice(-2).map(({ event }) => event)).toEqual(["error", "done"]);
      expect(done?.finish_reason).toBe("error");
    }
    expect(await exited).toEqual({ code: 0, signal: null });
    const { statuses } = await queryFirstRow<{ statuses: string[] }>(
      system.database,
      "SELECT array_agg(status) AS statuses FROM conversation.turns WHERE workspace_id = $1",
      [endless.workspaceId],
    );
    expect(statuses).toEqual(["error", "error"]);
  });
}
