import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, startRedis, startTcpProxy, type TcpProxy, type TestRedis } from "@parley/test-support";
import { postChat } from "../system/chat.ts";
import { createPlan, query } from "../system/database.ts";
import { type Prometheus, startPrometheus } from "../system/prometheus.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { newAddress, TRUST_TEST_PROXY, visit } from "../system/visitors.ts";
import { ALERTS_FILE, hastyCauses } from "./sources.ts";

/** The tenants of the stage: each does one thing. */
export type Cast = Record<"main" | "blocked" | "full" | "near" | "failing" | "unpaid" | "failover" | "leaving", Tenant>;

export type Stage = {
  system: System;
  redis: { kill(): Promise<void>; restart(): Promise<void> };
  /** Between the services and the database. */
  databaseWire: TcpProxy;
  /** Between the conversation service and the quota service, which settles. */
  settleWire: TcpProxy;
  prometheus: Prometheus;
  cast: Cast;
  stop(): Promise<void>;
};

const STREAMS_OF_ONE_CLIENT = 3;

/** Parley with two edges on one Redis, four providers, a wire to break at each weak place, and a Prometheus that watches all of it. */
export async function startStage(postgresUrl: string): Promise<Stage> {
  let redis: TestRedis = await startRedis();
  const redisPort = Number(new URL(redis.url).port);
  const postgres = new URL(postgresUrl);
  const databaseWire = await startTcpProxy({ targetPort: Number(postgres.port) });
  postgres.port = String(databaseWire.port);
  const quotaPort = await freePort();
  const settleWire = await startTcpProxy({ targetPort: quotaPort });
  const system = await startSystem({
    edges: 2,
    redisUrl: redis.url,
    databaseServerUrl: postgres.href,
    llmConfig: (base_url) => {
      const provider = { base_url, api_key_env: "OPENAI_API_KEY", retries: { max_attempts: 2, base_delay_ms: 1 } };
      return {
        default_model: "openai:default",
        providers: {
          openai: provider,
          slow: provider,
          guarded: provider,
          flaky: { ...provider, breaker: { failures: 3, cooldown_ms: 1_000 } },
          spare: provider,
        },
        routes: { both: ["spare:status-400", "openai:default"] },
      };
    },
    env: {
      edge: {
        ...TRUST_TEST_PROXY,
        QUOTA_TARGET: `127.0.0.1:${quotaPort}`,
        MAX_STREAMS_PER_CLIENT: String(STREAMS_OF_ONE_CLIENT),
      },
      quota: { GRPC_PORT: String(quotaPort) },
      conversation: { QUOTA_TARGET: `127.0.0.1:${settleWire.port}` },
    },
  });
  const services = [...system.edges, system.conversation, system.quota, system.llm];
  const prometheus = await startPrometheus({
    targets: services.map(({ name, opsPort }) => ({ service: name, opsPort })),
    rules: { "alerts.yaml": readFileSync(ALERTS_FILE, "utf8"), "hasty.yaml": hastyCauses() },
  });
  return {
    system,
    redis: {
      kill: () => redis.kill(),
      async restart() {
        redis = await startRedis({ port: redisPort });
      },
    },
    databaseWire,
    settleWire,
    prometheus,
    cast: await engage(system),
    async stop() {
      await prometheus.stop();
      await system.stop();
      await Promise.all([databaseWire.close(), settleWire.close(), redis.stop()]);
    },
  };
}

/** Makes the tenants: of one the quota is used up, of another nearly. */
async function engage(system: System): Promise<Cast> {
  const { admin, database } = system;
  await createPlan(database, "large", 1_000_000);
  await createPlan(database, "ten", 10);
  const large = (model: string) => createTenant(admin, { plan: "large", model });
  const cast: Cast = {
    main: await large("openai:tokens-20-every-10"),
    blocked: await large("openai:default"),
    failing: await large("spare:status-400"),
    unpaid: await large("spare:status-401"),
    failover: await large("route:both"),
    leaving: await large("openai:tokens-100-every-50"),
    full: await createTenant(admin, { plan: "ten" }),
    near: await createTenant(admin, { plan: "ten" }),
  };
  const { workspaceId, botSlug } = cast.blocked;
  await admin.moderation.addPattern({ workspaceId, botSlug, pattern: "hello", fallback: "No." });
  await spend(system, cast.full, 10);
  await spend(system, cast.near, 8);
  return cast;
}

async function spend({ database }: System, { workspaceId }: Tenant, used: number): Promise<void> {
  await query(
    database,
    `WITH turns AS (SELECT gen_random_uuid() AS turn_id, date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month FROM generate_series(1, $2)),
     ledger AS (INSERT INTO quota.ledger (workspace_id, month, turn_id) SELECT $1, month, turn_id FROM turns)
     INSERT INTO quota.usage (workspace_id, month, used) SELECT $1, month, count(*) FROM turns GROUP BY month`,
    [workspaceId, used],
  );
}

/** Sends visitors to both edges until stopped: visitors of every kind, or only those whose turns succeed. */
export function startVisitors({ system, cast }: Stage, kind: "every" | "well" = "every"): { stop(): Promise<void> } {
  const gone = new AbortController();
  const keepOn = async (work: () => Promise<unknown>, pauseMs: number) => {
    while (!gone.signal.aborted) {
      await work();
      await sleep(pauseMs, undefined, { signal: gone.signal }).catch(() => undefined);
    }
  };
  const everywhere = (tenant: Tenant) => [0, 1].map((edge) => keepOn(() => visit(system.url(edge), tenant), 100));
  const well = [...everywhere(cast.main), ...everywhere(cast.main)];
  const others = () => [
    ...[cast.blocked, cast.failing, cast.unpaid, cast.failover, cast.full].map((tenant) =>
      keepOn(() => visit(system.url(), tenant), 200),
    ),
    keepOn(() => leave(system.url(), cast.leaving), 300),
    keepOn(() => refusals(system, cast.main), 500),
    keepOn(() => owner(system, cast.main), 500),
  ];
  const running = kind === "every" ? [...well, ...others()] : well;
  return {
    async stop() {
      gone.abort();
      await Promise.all(running);
    },
  };
}

/** A visitor who goes away amid the reply. */
async function leave(url: string, tenant: Tenant): Promise<void> {
  const abort = new AbortController();
  try {
    const headers = { "x-forwarded-for": newAddress() };
    const response = await postChat(url, tenant, {}, { headers, signal: abort.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();
  } catch {
    // A service that is away is another visitor's matter.
  } finally {
    abort.abort();
  }
}

/** What is refused: a foreign page, no JSON, an unknown route, and one address that talks too much. */
async function refusals(system: System, tenant: Tenant): Promise<void> {
  const headers = { "x-forwarded-for": newAddress() };
  const foreign = { ...headers, origin: "https://elsewhere.example" };
  const swallow = async (answer: Promise<Response>) =>
    void (await answer.then((response) => response.text()).catch(() => ""));
  await Promise.all([
    ...Array.from({ length: 61 }, () => swallow(postChat(system.url(), tenant, {}, { headers: foreign }))),
    swallow(fetch(`${system.url()}/api/chat/`, { method: "POST", body: "{", headers })),
    swallow(fetch(`${system.url()}/no/such/page`, { headers })),
    swallow(
      fetch(`${system.url()}/api/widget/config/?public_key=${tenant.publicKey}`, {
        headers: { origin: tenant.origin },
      }),
    ),
  ]);
  const crowd = { "x-forwarded-for": newAddress() };
  await Promise.all(
    Array.from({ length: STREAMS_OF_ONE_CLIENT + 1 }, () =>
      swallow(postChat(system.url(1), tenant, {}, { headers: crowd })),
    ),
  );
}

/** An owner who looks for a conversation that is not there, with a good token. */
async function owner(system: System, { workspaceId }: Tenant): Promise<void> {
  const token = await system.sso.token({ workspaceId });
  const url = `${system.url()}/api/conversations/${randomUUID()}/export.json`;
  await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    .then((response) => response.text())
    .catch(() => "");
}
