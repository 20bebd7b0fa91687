import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildConsole } from "@parley/console/build";
import { freePorts, nodeFlags, type RunningProcess, startProcess } from "@parley/test-support";
import { buildWidget } from "@parley/widget/build";
import { returnsOk, root } from "./processes.ts";

export type DevelopmentSso = {
  issuer: string;
  /** The origin of the console. The sign-in redirects to no other origin. */
  consoleUrl: string;
  /** The environment with which services accept the sign-in's tokens. */
  env: Record<string, string>;
  stop(): Promise<void>;
};

export const CONSOLE_WORKSPACE = "console-tests";
const AUDIENCE = "parley";

/**
 * Starts the development sign-in (an identity provider) on a free port, for a console on another free port. The sign-in's
 * default account is an owner of CONSOLE_WORKSPACE.
 */
export async function startDevelopmentSso(extra: Record<string, string> = {}): Promise<DevelopmentSso> {
  const [port = 0, consolePort = 0] = await freePorts(2);
  const issuer = `http://localhost:${port}`;
  const consoleUrl = `http://localhost:${consolePort}`;
  const sso = await startProcess({
    name: "development sign-in",
    command: process.execPath,
    args: [...nodeFlags, "deploy/development-sso/src/main.ts"],
    cwd: root,
    env: {
      ISSUER: issuer,
      PORT: String(port),
      AUDIENCE,
      WORKSPACE: CONSOLE_WORKSPACE,
      ISSUES_ANY_TOKEN: "true",
      CONSOLE_URL: consoleUrl,
      ...extra,
    },
    ready: () => returnsOk(`${issuer}/.well-known/openid-configuration`),
  });
  await sso.waitReady();
  return {
    issuer,
    consoleUrl,
    env: {
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: AUDIENCE,
      JWKS_URL: `${issuer}/jwks`,
      JWT_ROLE_CLAIM: "roles",
      JWT_OWNER_ROLES: "owner",
      JWT_AGENT_ROLES: "agent",
      JWT_VIEWER_ROLES: "viewer",
    },
    async stop() {
      await sso.stop();
    },
  };
}

export const requestOwnersToken = (sso: DevelopmentSso) => requestToken(sso, "owner");

/** Requests a member's access token, as the OAuth client that may request tokens for any workspace. */
export async function requestToken(sso: DevelopmentSso, role: string): Promise<string> {
  const response = await fetch(`${sso.issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from("parley:parley").toString("base64")}` },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      workspace: CONSOLE_WORKSPACE,
      role,
    }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

export type ConsoleProcess = {
  url: string;
  opsPort: number;
  process: RunningProcess;
  stop(): Promise<void>;
};

export type ConsoleOptions = {
  sso: DevelopmentSso;
  conversationUrl: string;
  quotaUrl: string;
  edgeUrl: string;
  env?: Record<string, string>;
};

/** Builds the console's page and the widget, and starts the console as a process. */
export async function startConsole({ sso, ...options }: ConsoleOptions): Promise<ConsoleProcess> {
  const buildDir = await mkdtemp(join(tmpdir(), "parley-console-"));
  const [pageDir, widgetDir] = [join(buildDir, "page"), join(buildDir, "widget")];
  await Promise.all([buildConsole(pageDir), buildWidget(widgetDir)]);
  const [opsPort = 0] = await freePorts(1);
  const running = await startProcess({
    name: "console",
    command: process.execPath,
    args: [...nodeFlags, "services/console/src/main.ts"],
    cwd: root,
    env: {
      PUBLIC_HOST: "127.0.0.1",
      PORT: new URL(sso.consoleUrl).port,
      OPS_PORT: String(opsPort),
      CONSOLE_URL: sso.consoleUrl,
      ...sso.env,
      OIDC_CLIENT_ID: "parley-console",
      SESSION_SECRET: randomUUID(),
      CONVERSATION_URL: options.conversationUrl,
      QUOTA_URL: options.quotaUrl,
      EDGE_URL: options.edgeUrl,
      CONSOLE_DIR: pageDir,
      WIDGET_DIR: widgetDir,
      ...options.env,
    },
    ready: () => returnsOk(`http://127.0.0.1:${opsPort}/healthz/ready`),
  });
  await running.waitReady();
  return {
    url: sso.consoleUrl,
    opsPort,
    process: running,
    async stop() {
      if (running.isRunning()) await running.stop();
      await rm(buildDir, { recursive: true });
    },
  };
}
