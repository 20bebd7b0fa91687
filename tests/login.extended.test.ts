import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type DeviceLogin, startDeviceLogin } from "./cli/device-login.ts";
import { runCliInProcess } from "./system/cli.ts";
import type { DeviceSso } from "./system/servers/device-sso.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSystem({ edges: 0 });
  tenant = await createTenant(system.admin);
});
afterAll(() => system?.stop());

let device: DeviceLogin;
let sso: DeviceSso;
/** The configuration folder (XDG_CONFIG_HOME) in which the CLI keeps the login. */
let dir: string;
let env: Record<string, string>;
beforeEach(async () => {
  device = await startDeviceLogin(system, tenant);
  ({ sso, dir, env } = device);
});
afterEach(() => device.stop());

const signIn = (lifetimeS?: number) => device.signIn(lifetimeS);

describe("an access token that expires soon", () => {
  test("is refreshed again by the same command if the new token expires soon too", async () => {
    await signIn(30);
    const files = ["one.md", "two.md"];
    for (const file of files) await writeFile(join(dir, file), `# Delivery\n\nWe deliver ${file} on Mondays.\n`);
    const { workspaceId, botSlug } = tenant;
    const args = ["knowledge", "add", "--workspace", workspaceId, "--bot", botSlug, ...files];
    const { code, stderr } = await runCliInProcess(args, env, dir);
    expect([code, stderr]).toEqual([0, "[1/2] one.md …\n[2/2] two.md …\n"]);
    expect(sso.tokenRequests.map((form) => form.get("grant_type"))).toEqual(["refresh_token", "refresh_token"]);
  });
});

test("commands fail after 10 seconds if the identity provider does not respond", async () => {
  await signIn(0);
  sso.isSilent = true;
  const commands = [["bot", "list", "--workspace", tenant.workspaceId], ["login"]];
  const results = await Promise.all(commands.map((command) => runCliInProcess(command, env)));
  for (const { code, stderr } of results)
    expect([code, stderr]).toEqual([1, `parley: ${sso.issuer} did not respond within 10 s: try again\n`]);
});
