import { setTimeout as sleep } from "node:timers/promises";
import { freePort, isMet } from "@parley/test-support";
import { runCli } from "../system/cli.ts";
import { query } from "../system/database.ts";
import { runNginx } from "../system/nginx.ts";
import type { FiringAlert as Alert } from "../system/prometheus.ts";
import { createTenant, type Tenant } from "../system/system.ts";
import { visit } from "../system/visitors.ts";
import { filledIn, panelsOf, readDashboards } from "./sources.ts";
import type { Stage } from "./stage.ts";

/** An alert and those of its labels that say whom it means. */
export type Named = { alert: string; labels?: Record<string, string> };

export type Fault = {
  name: string;
  /** Breaks something, and has those talk whom it befalls until `mended`. */
  inject(mended: AbortSignal): Promise<void>;
  mend(): Promise<void>;
  /** What must ring, and say so, while the fault lasts. */
  rings: readonly Named[];
  /** What may ring besides: its consequences. */
  consequences?: readonly string[];
  /** Waits for what else must name it: a panel, or a tool. */
  seen?(): Promise<void>;
};

/** Ten things that go wrong, on a stage that is otherwise well. */
export async function tenFaults(stage: Stage): Promise<Fault[]> {
  const { system, databaseWire, settleWire, redis } = stage;
  const { admin } = system;
  const large = (model: string) => createTenant(admin, { plan: "large", model });
  const [slow, down, back, guarded, revoked, capped] = await Promise.all([
    large("slow:first-6000"),
    large("flaky:status-503"),
    large("flaky:default"),
    large("guarded:status-401"),
    large("openai:default"),
    createTenant(admin, { plan: "ten" }),
  ]);
  const stalled = system.edges[1];
  if (stalled === undefined) throw new Error("there is no second edge");

  /** So many visitors of a tenant, one message after another. */
  function talk(tenant: Tenant, visitors: number, mended: AbortSignal): void {
    const visitor = async (number: number) => {
      await pause(number * 500, mended);
      while (!mended.aborted) {
        await visit(system.url(), tenant);
        await pause(200, mended);
      }
    };
    for (let number = 0; number < visitors; number++) void visitor(number);
  }

  return [
    {
      name: "provider slow",
      inject: async (mended) => talk(slow, 12, mended),
      mend: async () => undefined,
      rings: [{ alert: "ParleyProviderSlow", labels: { provider: "slow" } }],
    },
    {
      name: "provider down",
      inject: async (mended) => talk(down, 2, mended),
      // The breaker closes with the first call that succeeds.
      mend: () => until(async () => reached(await visit(system.url(), back))),
      rings: [{ alert: "ParleyProviderBreakerOpen", labels: { provider: "flaky" } }],
    },
    {
      name: "Redis gone",
      inject: () => redis.kill(),
      mend: () => redis.restart(),
      rings: [{ alert: "ParleyRateLimiterOnFallback" }],
    },
    {
      name: "database slow",
      inject: async () => databaseWire.latency(150),
      mend: () => databaseWire.resume(),
      rings: ["conversation", "quota", "llm-proxy"].map((service) => ({
        alert: "ParleyDatabaseSlow",
        labels: { service, pool: "main" },
      })),
      consequences: ["ParleyDatabasePoolExhausted"],
    },
    {
      name: "quota service gone",
      inject: () => system.quota.kill9(),
      mend: () => system.quota.start(),
      rings: [
        { alert: "ParleyTargetDown", labels: { service: "quota" } },
        { alert: "ParleyServiceMissing", labels: { service: "quota" } },
      ],
      consequences: ["ParleyOutboxStuck"],
      seen: () =>
        shows(
          stage,
          "service",
          "Failed calls by caller",
          (labels) => /Reserve$/.test(String(labels.rpc)) && labels.status === "UNAVAILABLE",
        ),
    },
    {
      name: "key revoked",
      inject: async (mended) => {
        talk(guarded, 2, mended);
        const { publicKey } = revoked;
        await admin.keys.revokeKey({ publicKey });
        talk(revoked, 1, mended);
      },
      mend: async () => undefined,
      rings: [{ alert: "ParleyProviderRefusesKey", labels: { provider: "guarded" } }],
      // A widget's own key is the workspace's business: it wakes nobody, and a panel names it.
      seen: () => shows(stage, "service", "Refusals by code", (labels) => labels.code === "invalid_api_key"),
    },
    {
      name: "cap reached",
      inject: async (mended) => talk(capped, 2, mended),
      mend: async () => void (await admin.workspaces.setPlan({ workspaceId: capped.workspaceId, plan: "large" })),
      rings: [{ alert: "ParleyWorkspaceAtCap", labels: { workspace: capped.workspaceId } }],
      consequences: ["ParleyWorkspaceNearCap"],
      seen: () => shows(stage, "quota", "Refusals by plan", (labels) => labels.plan === "ten"),
    },
    {
      name: "one replica stalled",
      inject: async () => stalled.process().signal("SIGSTOP"),
      mend: async () => stalled.process().signal("SIGCONT"),
      rings: [{ alert: "ParleyTargetDown", labels: { service: "edge", instance: `127.0.0.1:${stalled.opsPort}` } }],
      consequences: ["ParleyEventLoopBlocked"],
    },
    {
      name: "settle blocked",
      inject: async () => {
        settleWire.stall();
        const waiting = "SELECT count(*)::integer AS turns FROM conversation.outbox";
        await until(async () => (await query<{ turns: number }>(system.database, waiting)).turns > 0);
        // A minute and a half later.
        await query(system.database, "UPDATE conversation.outbox SET created_at = created_at - interval '90 seconds'");
      },
      mend: () => settleWire.resume(),
      rings: [{ alert: "ParleyOutboxStuck" }],
    },
    ...(isMet("nginx") ? [proxyBuffering(stage)] : []),
  ];
}

/** No service of ours sees it: events leave one by one, and arrive in clumps. Only the doctor, who comes from outside, can name it. */
function proxyBuffering({ system, cast }: Stage): Fault {
  let proxy: { url: string; stop(): Promise<void> } | undefined;
  return {
    name: "proxy buffering",
    async inject() {
      const port = await freePort();
      const edge = `proxy_pass ${system.url()}; proxy_ignore_headers X-Accel-Buffering;`;
      const { stop } = await runNginx(port, () => `server { listen 127.0.0.1:${port}; location / { ${edge} } }`);
      proxy = { url: `http://127.0.0.1:${port}`, stop };
    },
    mend: async () => await proxy?.stop(),
    rings: [],
    async seen() {
      const { publicKey, origin } = cast.main;
      const asked = ["doctor", String(proxy?.url), "--public-key", publicKey, "--origin", origin, "--quick", "--json"];
      await until(async () => {
        const { stdout } = await runCli(asked, {});
        const { findings } = JSON.parse(stdout) as { findings: { check: string; result: string }[] };
        return findings.some(({ check, result }) => check === "buffering" && result === "fail");
      });
    },
  };
}

/** Whether a firing alert is the one that is meant. */
export function isNamed({ alert, labels = {} }: Named, firing: Alert): boolean {
  return firing.name === alert && Object.entries(labels).every(([label, value]) => firing.labels[label] === value);
}

/** Waits until a panel of a dashboard shows a series that is above nothing. */
async function shows(
  stage: Stage,
  dashboard: string,
  title: string,
  wanted: (labels: Record<string, string>) => boolean,
) {
  const panel = panelsOf(readDashboards()[dashboard] ?? { title: "", panels: [] }).find((each) => each.title === title);
  if (panel === undefined) throw new Error(`there is no panel ${title}`);
  await until(async () => {
    const samples = await Promise.all(panel.targets.map(({ expr }) => stage.prometheus.query(filledIn(expr, "5s"))));
    return samples.flat().some(({ labels, value }) => value > 0 && wanted(labels));
  });
}

const reached = (seen: Awaited<ReturnType<typeof visit>>) => seen.kind === "stream" && seen.finishReason === "stop";

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("what was waited for has not happened within 60 s");
    await sleep(200);
  }
}

async function pause(ms: number, mended: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal: mended }).catch(() => undefined);
}
