import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeWith } from "@parley/test-support";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fillVariables, panelsOf, readDashboards } from "../observability/sources.ts";
import type { Prometheus } from "../system/servers/prometheus.ts";
import { describeStreams, timed } from "./checks.ts";
import { ROOT, run } from "./commands.ts";
import { type Installation, install, MODEL, type Tenant } from "./installation.ts";
import { startClusterPrometheus } from "./prometheus.ts";

/** A provider with a price, so that workspaces have a cost. */
const VALUES = {
  llmProxy: {
    config: {
      default_model: MODEL,
      providers: {
        openai: {
          base_url: "http://provider.backends.svc.cluster.local:9999/v1",
          api_key_env: "OPENAI_API_KEY",
          prices: { [MODEL.replace("openai:", "")]: { input: 1, output: 2 } },
        },
      },
    },
  },
};

/** Of the plan "free". */
const CAP = 100;

describeWith("prometheus", "the five questions on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let prometheus: Prometheus;
  const resources = new AsyncDisposableStack();

  beforeAll(async () => {
    ({ installation, tenant } = await install(VALUES));
    resources.defer(() => installation.remove());
    await installation.parley("workspace", "set-plan", tenant.workspaceId, "free");
    const countUntil = async (count: number) => {
      while ((await usedMessages()) < count) await sleep(1_000);
    };
    // The panel of workspaces near their cap shows those above 80 %.
    await timed("load", () => installation.underLoad(tenant, () => countUntil(0.8 * CAP)), describeStreams);
    prometheus = await startClusterPrometheus(installation);
    resources.defer(() => prometheus.stop());

    // Visitors of another workspace, because most panels show rates.
    const stopped = Promise.withResolvers<void>();
    const load = installation.underLoad(await installation.createTenant(), () => stopped.promise);
    resources.defer(async () => {
      stopped.resolve();
      await load;
    });
  });
  afterAll(() => resources.disposeAsync());

  it.each<[question: string, cause: () => Promise<unknown>, expected: () => string[]]>([
    ["Which workspace burns money?", async () => undefined, () => [tenant.workspaceId, "free"]],
    ["Why was this visitor refused?", refuseVisitor, () => ["origin_not_allowed", "403"]],
    ["Who is near the cap?", async () => undefined, () => [tenant.workspaceId, "free"]],
    ["Is it us or the provider?", async () => undefined, () => ["openai closed", "edge 2 of 2", "llm-proxy 2 of 2"]],
    ["What changed yesterday?", changeBot, () => ["BotAdminService/UpdateBot", "Schema/Migrate"]],
  ])("%s The command prints it, and the panel shows it", async (question, cause, expected) => {
    await cause();
    const page = await readFile(join(ROOT, "docs/operations/questions.md"), "utf8");
    const [, command = ""] = page.split(`\n## ${question}\n`)[1]?.match(/```sh\nparley (.+)\n```/) ?? [];
    const output = await installation.parley(...command.replace(" W ", ` ${tenant.workspaceId} `).split(" "));
    console.log(`parley ${command}\n${output}`);
    for (const text of expected()) expect(output).toContain(text);

    const row = page.split("\n").find((line) => line.startsWith(`| [${question}]`)) ?? "";
    const [, dashboard = ""] = /dashboards\.md#(\w+)/.exec(row) ?? [];
    const titles = [...row.matchAll(/_([^_]+)_/g)].map(([, title = ""]) => title);
    expect(titles).not.toEqual([]);
    const panels = panelsOf(readDashboards()[dashboard] ?? { title: "", panels: [] });
    for (const title of titles) {
      const targets = panels.find((panel) => panel.title === title)?.targets ?? [];
      const shown = async () => {
        await cause();
        const samples = await Promise.all(targets.map(({ expr }) => prometheus.query(fillVariables(expr, "10s"))));
        return samples.flat().filter(({ value }) => value > 0);
      };
      await expect.poll(shown, { timeout: 60_000, message: title }).not.toEqual([]);
      console.log(`${title}: ${JSON.stringify(await shown())}`);
    }
  });

  async function usedMessages(): Promise<number> {
    const usage = await installation.parley("usage", "--workspace", tenant.workspaceId, "--json");
    return Number((JSON.parse(usage) as { used: string | number }).used);
  }

  /** Sends a message from a page whose origin the key does not permit. */
  async function refuseVisitor(): Promise<void> {
    const url = "http://parley.parley.svc.cluster.local/api/chat/";
    const body = { public_key: tenant.publicKey, session_id: crypto.randomUUID(), message: "Hello?" };
    const headers = { "content-type": "application/json", origin: "https://elsewhere.example" };
    const request = { method: "POST", headers, body: JSON.stringify(body) };
    const script = `fetch("${url}", ${JSON.stringify(request)}).then(({ status }) => console.log(status))`;
    const exec = ["--namespace", "backends", "exec", "deployment/visitors", "--", "node", "--eval", script];
    expect(await run("kubectl", exec)).toBe("403\n");
  }

  async function changeBot(): Promise<void> {
    const bot = ["--workspace", tenant.workspaceId, "--slug", "support"];
    await installation.parley("bot", "update", ...bot, "--name", crypto.randomUUID());
  }
});
