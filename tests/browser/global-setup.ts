import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDatabase, isRequirementMet, reportMissingRequirements, WEBSITE_NETWORK } from "@parley/test-support";
import { buildWidget } from "@parley/widget/build";
import type { TestProject } from "vitest/node";
import { CONSOLE_WORKSPACE, startConsole, startDevelopmentSso } from "../system/console.ts";
import { providePostgres } from "../system/global-setup.ts";
import { startSystem } from "../system/system.ts";
import { replyTo } from "./replies.ts";

export interface ProvidedSystem {
  readonly edgeUrl: string;
  readonly opsPorts: { readonly conversation: number; readonly quota: number; readonly llm: number };
  readonly workspaceId: string;
  /** The access token of a workspace member who has no role. */
  readonly token: string;
  /** The access token of the workspace's owner. */
  readonly ownerToken: string;
  readonly widgetDir: string;
  /** The database's URL, with the superuser's credentials. */
  readonly databaseUrl: string;
  /** The owners' console. Its development sign-in signs in an owner of CONSOLE_WORKSPACE, unless a login hint names another account. */
  readonly consoleUrl: string;
}

declare module "vitest" {
  interface ProvidedContext {
    system: ProvidedSystem | undefined;
  }
}

/** Starts one system for all browser tests. If Chromium is missing, starts nothing, and the tests are skipped and reported. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  reportMissingRequirements();
  project.provide("system", undefined);
  if (!isRequirementMet("chromium")) return async () => undefined;

  const widgetDir = await mkdtemp(join(tmpdir(), "parley-widget-"));
  const [postgres, consoleSso] = await Promise.all([
    providePostgres(project),
    startDevelopmentSso(),
    buildWidget(widgetDir),
  ]);
  const { postgresUrl: serverUrl, migratedDatabase: template } = postgres;
  const system = await startSystem({
    script: replyTo,
    database: await createDatabase(undefined, { serverUrl, template }),
    // The edge trusts the ingress as its proxy, because ingress.ts sets X-Forwarded-For to a separate address per visitor.
    env: {
      edge: { WIDGET_DIR: widgetDir, TRUSTED_PROXIES: "127.0.0.1/32" },
      // The plan of the console's workspace permits tools of owners.
      conversation: {
        ...consoleSso.env,
        OWNER_TOOL_PLANS: "scale",
        PLAN_MODELS: JSON.stringify({ scale: ["openai:*"] }),
        // The webhook receivers and websites of the tests are on this machine.
        EGRESS_ALLOW: `127.0.0.1/32, ${WEBSITE_NETWORK}`,
      },
      quota: consoleSso.env,
      // The tests' tool server is on this machine.
      "llm-proxy": { EGRESS_ALLOW: "127.0.0.1/32" },
    },
  });
  const { workspace } = await system.admin.workspaces.createWorkspace({ name: "Browser tests", plan: "scale" });
  const workspaceId = workspace?.id ?? "";
  await system.admin.workspaces.createWorkspace({ id: CONSOLE_WORKSPACE, name: "Console tests", plan: "scale" });
  // The console's edge accepts the tokens of the development sign-in.
  const consoleEdge = await system.startEdge(consoleSso.env);
  const consoleProcess = await startConsole({
    sso: consoleSso,
    conversationUrl: `http://127.0.0.1:${system.conversation.opsPort}`,
    quotaUrl: `http://127.0.0.1:${system.quota.opsPort}`,
    edgeUrl: `http://127.0.0.1:${consoleEdge.port}`,
  });
  project.provide("system", {
    edgeUrl: system.url(),
    opsPorts: { conversation: system.conversation.opsPort, quota: system.quota.opsPort, llm: system.llm.opsPort },
    workspaceId,
    token: await system.sso.token({ workspaceId }),
    ownerToken: await system.sso.token({ workspaceId, role: "owner" }),
    widgetDir,
    databaseUrl: system.database.url,
    consoleUrl: consoleProcess.url,
  });
  return async () => {
    await consoleProcess.stop();
    await system.stop();
    await consoleSso.stop();
    await postgres.release();
    await rm(widgetDir, { recursive: true });
  };
}
