import { WEBSITE_NETWORK } from "@parley/test-support";
import {
  CONSOLE_WORKSPACE,
  type ConsoleProcess,
  type DevelopmentSso,
  startConsole,
  startDevelopmentSso,
} from "../system/console.ts";
import { type System, startSystem } from "../system/system.ts";

/** A system with a console and the development sign-in, whose tokens the services accept. */
export type ConsoleSystem = {
  sso: DevelopmentSso;
  system: System;
  consoleProcess: ConsoleProcess;
  stop(): Promise<void>;
};

type Options = {
  model?: string;
  /** Additional environment variables of the development sign-in. */
  ssoEnv?: Record<string, string>;
};

/** Starts a system with the workspace CONSOLE_WORKSPACE and its bot `guide`. */
export async function startConsoleSystem({ model = "openai:default", ssoEnv }: Options = {}): Promise<ConsoleSystem> {
  await using resources = new AsyncDisposableStack();
  const sso = resources.adopt(await startDevelopmentSso(ssoEnv), (started) => started.stop());
  const conversation = { ...sso.env, EGRESS_ALLOW: `127.0.0.1/32, ${WEBSITE_NETWORK}` };
  const env = { edge: sso.env, conversation, quota: sso.env };
  const system = resources.adopt(await startSystem({ env }), (started) => started.stop());
  const workspaceId = CONSOLE_WORKSPACE;
  await system.admin.workspaces.createWorkspace({ id: workspaceId, name: "Console tests", plan: "pro" });
  await system.admin.bots.createBot({ workspaceId, slug: "guide", changes: { model } });
  const consoleProcess = await startConsole({
    sso,
    conversationUrl: `http://127.0.0.1:${system.conversation.opsPort}`,
    quotaUrl: `http://127.0.0.1:${system.quota.opsPort}`,
    edgeUrl: system.url(),
  });
  resources.defer(() => consoleProcess.stop());
  const running = resources.move();
  return { sso, system, consoleProcess, stop: () => running.disposeAsync() };
}
