import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "@parley/test-support";
import { runCliInChildProcess } from "../system/cli.ts";
import { queryFirstRow } from "../system/database.ts";
import { runNginx } from "../system/servers/nginx.ts";
import type { FiringAlert } from "../system/servers/prometheus.ts";
import { createTenant, type Tenant } from "../system/system.ts";
import { visit } from "../system/visitors.ts";
import type { Fixture } from "./fixture.ts";
import { fillVariables, panelsOf, readDashboards } from "./sources.ts";

/** An alert and some of its labels, for example the affected service. */
export type ExpectedAlert = { alert: string; labels?: Record<string, string> };

export type Fault = {
  name: string;
  /** Injects the fault. The fault's visitors, if any, chat until `repaired` aborts. */
  inject(repaired: AbortSignal): Promise<void>;
  repair(): Promise<void>;
  /** The alerts that must fire during the fault. */
  alerts: readonly ExpectedAlert[];
  /** The names of further alerts that may fire. */
  consequences?: readonly string[];
  /** Waits until a dashboard panel or `parley doctor` shows the fault too. */
  waitForPanelOrDoctor?(): Promise<void>;
};

export async function createFaults(fixture: Fixture): Promise<Fault[]> {
  const { system, databaseProxy, settleProxy, redis } = fixture;
  const { admin } = system;
  const createLargeTenant = (model: string) => createTenant(admin, { plan: "large", model });
  const [slow, down, working, refusing, revoked, capped] = await Promise.all([
    createLargeTenant("slow:first-6000"),
    createLargeTenant("flaky:status-503"),
    createLargeTenant("flaky:default"),
    createLargeTenant("refusing:status-401"),
    createLargeTenant("openai:default"),
    createTenant(admin, { plan: "ten" }),
  ]);
  const replica = system.edges[1];
  if (replica === undefined) throw new Error("the system has no second edge");

  /** Starts visitors, who chat with the tenant's bot until `repaired` aborts. */
  function startChats(tenant: Tenant, visitors: number, repaired: AbortSignal): void {
    const sendMessages = async (number: number) => {
      await pause(number * 500, repaired);
      while (!repaired.aborted) {
        await visit(system.url(), tenant);
        await pause(200, repaired);
      }
    };
    for (let number = 0; number < visitors; number++) void sendMessages(number);
  }

  return [
    {
      name: "provider slow",
      inject: async (repaired) => startChats(slow, 12, repaired),
      repair: async () => undefined,
      alerts: [{ alert: "ParleyProviderSlow", labels: { gen_ai_provider_name: "slow" } }],
    },
    {
      name: "provider down",
      inject: async (repaired) => startChats(down, 2, repaired),
      // The tenant `working` has the same provider with a model that works. The first successful call closes the circuit breaker.
      repair: () => waitUntil(async () => isComplete(await visit(system.url(), working))),
      // The bot of `down` has no other model, so its turns fail.
      alerts: [
        { alert: "ParleyProviderBreakerOpen", labels: { provider: "flaky" } },
        { alert: "ParleyProviderDown", labels: { provider: "flaky" } },
        { alert: "ParleyProviderFailing" },
      ],
    },
    {
      name: "Redis down",
      inject: () => redis.kill(),
      repair: () => redis.restart(),
      alerts: [{ alert: "ParleyRateLimiterOnFallback" }],
    },
    {
      name: "database slow",
      inject: async () => databaseProxy.latency(150),
      repair: () => databaseProxy.resume(),
      alerts: ["conversation", "quota", "llm-proxy"].map((service) => ({
        alert: "ParleyDatabaseSlow",
        labels: { service, pool: "main" },
      })),
      consequences: ["ParleyDatabasePoolExhausted", "ParleyDatabaseUnavailable"],
    },
    {
      name: "quota service down",
      inject: () => system.quota.kill9(),
      repair: () => system.quota.start(),
      alerts: [
        { alert: "ParleyTargetDown", labels: { service: "quota" } },
        { alert: "ParleyServiceMissing", labels: { service: "quota" } },
      ],
      consequences: ["ParleyOutboxStuck", "ParleyProcessRestarted"],
      waitForPanelOrDoctor: () =>
        waitForPanel(
          fixture,
          "service",
          "Failed calls at the caller",
          (labels) => /Reserve$/.test(String(labels.rpc)) && labels.status === "UNAVAILABLE",
        ),
    },
    {
      name: "provider key and widget key revoked",
      inject: async (repaired) => {
        // The provider of this tenant's model refuses Parley's API key.
        startChats(refusing, 2, repaired);
        const { publicKey } = revoked;
        await admin.keys.revokeKey({ publicKey });
        startChats(revoked, 1, repaired);
      },
      repair: async () => undefined,
      alerts: [{ alert: "ParleyProviderRefusesKey", labels: { provider: "refusing" } }],
      // No alert fires for a revoked widget key, because only the key's workspace can replace the key. A panel shows the refusals.
      waitForPanelOrDoctor: () =>
        waitForPanel(fixture, "service", "Refusals by code", (labels) => labels.code === "invalid_api_key"),
    },
    {
      name: "cap reached",
      inject: async (repaired) => startChats(capped, 2, repaired),
      repair: async () => void (await admin.workspaces.setPlan({ workspaceId: capped.workspaceId, plan: "large" })),
      alerts: [{ alert: "ParleyWorkspaceAtCap", labels: { workspace: capped.workspaceId } }],
      consequences: ["ParleyWorkspaceNearCap"],
      waitForPanelOrDoctor: () => waitForPanel(fixture, "quota", "Refusals by plan", (labels) => labels.plan === "ten"),
    },
    {
      name: "one replica stalled",
      inject: async () => replica.process().signal("SIGSTOP"),
      repair: async () => replica.process().signal("SIGCONT"),
      alerts: [{ alert: "ParleyTargetDown", labels: { service: "edge", instance: `127.0.0.1:${replica.opsPort}` } }],
      consequences: ["ParleyEventLoopBlocked"],
    },
    {
      name: "settle blocked",
      inject: async () => {
        settleProxy.stall();
        const countTurns = "SELECT count(*)::integer AS turns FROM conversation.outbox";
        await waitUntil(async () => (await queryFirstRow<{ turns: number }>(system.database, countTurns)).turns > 0);
        // Simulates that the settlements have waited for 90 s.
        await queryFirstRow(
          system.database,
          "UPDATE conversation.outbox SET created_at = created_at - interval '90 seconds'",
        );
      },
      repair: () => settleProxy.resume(),
      alerts: [{ alert: "ParleyOutboxStuck" }],
    },
    proxyBuffering(fixture),
  ];
}

/** An nginx that buffers responses. Only `parley doctor` detects this fault, because no visitor chats through that nginx. */
function proxyBuffering({ system, tenants }: Fixture): Fault {
  let proxy: { url: string; stop(): Promise<void> } | undefined;
  return {
    name: "proxy buffering",
    async inject() {
      const port = await freePort();
      const edge = `proxy_pass ${system.url()}; proxy_ignore_headers X-Accel-Buffering;`;
      const { stop } = await runNginx(port, () => `server { listen 127.0.0.1:${port}; location / { ${edge} } }`);
      proxy = { url: `http://127.0.0.1:${port}`, stop };
    },
    repair: async () => await proxy?.stop(),
    alerts: [],
    async waitForPanelOrDoctor() {
      const { publicKey, origin } = tenants.main;
      const args = ["doctor", String(proxy?.url), "--public-key", publicKey, "--origin", origin, "--quick", "--json"];
      await waitUntil(async () => {
        const { stdout } = await runCliInChildProcess(args, {});
        const { findings } = JSON.parse(stdout) as { findings: { check: string; result: string }[] };
        return findings.some(({ check, result }) => check === "buffering" && result === "fail");
      });
    },
  };
}

export function matchesAlert({ alert, labels = {} }: ExpectedAlert, firing: FiringAlert): boolean {
  return firing.name === alert && Object.entries(labels).every(([label, value]) => firing.labels[label] === value);
}

/** Waits until a dashboard panel shows a matching series above zero. */
async function waitForPanel(
  fixture: Fixture,
  dashboard: string,
  title: string,
  isWanted: (labels: Record<string, string>) => boolean,
) {
  const panel = panelsOf(readDashboards()[dashboard] ?? { title: "", panels: [] }).find((each) => each.title === title);
  if (panel === undefined) throw new Error(`dashboard ${dashboard} has no panel "${title}"`);
  await waitUntil(async () => {
    const samples = await Promise.all(
      panel.targets.map(({ expr }) => fixture.prometheus.query(fillVariables(expr, "5s"))),
    );
    return samples.flat().some(({ labels, value }) => value > 0 && isWanted(labels));
  });
}

const isComplete = (result: Awaited<ReturnType<typeof visit>>) =>
  result.kind === "stream" && result.finishReason === "stop";

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error("the condition was not met within 60 s");
    await sleep(200);
  }
}

async function pause(ms: number, repaired: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: repaired }).catch(() => undefined);
}
