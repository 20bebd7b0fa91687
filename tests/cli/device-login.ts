import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cliEnv, runCliJson } from "../system/cli.ts";
import { type DeviceSso, startDeviceSso } from "../system/servers/device-sso.ts";
import type { SharedSystem } from "../system/shared-system.ts";
import type { Tenant } from "../system/system.ts";

/** An identity provider, and a directory in which the CLI stores the login of the tenant's member `anna`. */
export type DeviceLogin = {
  sso: DeviceSso;
  dir: string;
  /** The file in which the CLI stores the login. */
  path: string;
  /** The environment variables with which the CLI uses the login. */
  env: Record<string, string>;
  /** Signs in, then clears `sso.tokenRequests`. The access token is valid for `lifetimeS`, by default an hour. */
  signIn(lifetimeS?: number): Promise<void>;
  stop(): Promise<void>;
};

/** Starts an identity provider whose access tokens the system accepts. */
export async function startDeviceLogin(
  system: Pick<SharedSystem, "conversation" | "quota" | "llm" | "sso">,
  tenant: Tenant,
  role = "parley-owner",
): Promise<DeviceLogin> {
  const { issuer, audience, sign } = system.sso;
  const claims = { iss: issuer, aud: audience, sub: "anna", workspace_id: tenant.workspaceId, roles: [role] };
  const sso = await startDeviceSso((lifetimeS) => sign({ ...claims, exp: Math.floor(Date.now() / 1_000) + lifetimeS }));
  const dir = await mkdtemp(join(tmpdir(), "parley-login-"));
  const { ADMIN_TOKEN: _, ...urls } = cliEnv(system);
  const env = { ...urls, XDG_CONFIG_HOME: dir, PARLEY_LOGIN_ISSUER: sso.issuer, PARLEY_LOGIN_CLIENT_ID: sso.clientId };
  return {
    sso,
    dir,
    path: join(dir, "parley", "login.json"),
    env,
    async signIn(lifetimeS = 3_600) {
      sso.lifetimeS = lifetimeS;
      sso.decision = "approve";
      await runCliJson(["login"], env);
      sso.tokenRequests = [];
    },
    async stop() {
      await sso.stop();
      await rm(dir, { recursive: true });
    },
  };
}
