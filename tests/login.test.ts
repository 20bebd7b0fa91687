import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { tryLockFile } from "@parley/cli";
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type DeviceLogin, startDeviceLogin } from "./cli/device-login.ts";
import { cliEnv, runCliInProcess, runCliJson } from "./system/cli.ts";
import type { DeviceSso } from "./system/servers/device-sso.ts";
import { joinSharedSystem, type SharedSystem } from "./system/shared-system.ts";
import { createTenant, type Tenant } from "./system/system.ts";

let system: SharedSystem;
let tenant: Tenant;
beforeAll(async () => {
  system = await joinSharedSystem();
  tenant = await createTenant(system.admin);
});

let device: DeviceLogin;
let sso: DeviceSso;
/** The configuration folder (XDG_CONFIG_HOME). */
let dir: string;
/** The login's file, below `dir`. */
let path: string;
let env: Record<string, string>;
beforeEach(async () => {
  device = await startDeviceLogin(system, tenant);
  ({ sso, dir, path, env } = device);
});
afterEach(() => device.stop());

const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);
const readLogin = async () => JSON.parse(await readFile(path, "utf8")) as Record<string, string>;

const signIn = (lifetimeS?: number) => device.signIn(lifetimeS);

test("parley login waits until the person approves, keeps the token in a file that only the file's owner can read, and other commands use the token", async () => {
  const login = runCliInProcess(["login", "--audience", "parley", "--json"], env);
  await vi.waitFor(() => expect(sso.tokenRequests.length).toBeGreaterThan(0), { timeout: 20_000 });
  sso.decision = "approve";
  const { code, stdout, stderr } = await login;
  expect(stderr).toBe(`Open ${sso.issuer}/verify and sign in. Check that the page shows the code WDJB-MJHT.\n`);
  expect([code, JSON.parse(stdout)]).toEqual([0, { subject: "anna", expires_at: expect.any(String), file: path }]);
  expect(sso.tokenRequests.at(-1)?.get("audience")).toBe("parley");
  expect([await modeOf(path), await modeOf(join(dir, "parley"))]).toEqual(["600", "700"]);

  const { workspaceId, botSlug } = tenant;
  await runCliJson(["bot", "update", "--workspace", workspaceId, "--slug", botSlug, "--name", "Renamed"], env);
  expect(await runCliJson(["audit-log", "--workspace", workspaceId, "--limit", "1"], env)).toEqual([
    expect.objectContaining({ member: "anna", method: "BotAdminService/UpdateBot", changed_fields: ["name"] }),
  ]);
  const refused = await runCliInProcess(["workspace", "list"], env);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("your role does not permit")]);
});

test("an agent lists canned replies and conversations, also if there are none", async () => {
  const empty = await createTenant(system.admin);
  const agent = await startDeviceLogin(system, empty, "parley-agent");
  onTestFinished(() => agent.stop());
  await agent.signIn();
  for (const group of ["canned-reply", "conversation"])
    expect(await runCliJson([group, "list", "--workspace", empty.workspaceId], agent.env)).toEqual([]);
});

test("ADMIN_TOKEN takes precedence over the login", async () => {
  await signIn();
  const admin = { ...env, ...cliEnv(system) };
  expect((await runCliInProcess(["workspace", "list"], admin)).code).toBe(0);
});

describe("an access token that expires soon", () => {
  test("is refreshed once, and the file gets the new tokens and keeps its mode", async () => {
    await signIn(30);
    const before = await readLogin();
    sso.lifetimeS = 3_600;
    for (let command = 0; command < 2; command++)
      await runCliJson(["bot", "list", "--workspace", tenant.workspaceId], env);
    expect(sso.tokenRequests.map((form) => form.get("grant_type"))).toEqual(["refresh_token"]);
    const after = await readLogin();
    expect([after.accessToken !== before.accessToken, sso.isActive(after.refreshToken ?? "")]).toEqual([true, true]);
    expect(await modeOf(path)).toBe("600");
  });

  test("is refreshed only once by several concurrent commands", async () => {
    await signIn(30);
    sso.lifetimeS = 3_600;
    const commands = Array.from({ length: 5 }, () =>
      runCliInProcess(["bot", "list", "--workspace", tenant.workspaceId], env),
    );
    expect((await Promise.all(commands)).map(({ code, stderr }) => [code, stderr])).toEqual(
      Array.from({ length: 5 }, () => [0, ""]),
    );
    expect(sso.tokenRequests).toHaveLength(1);
  });

  test("cannot be refreshed if the identity provider has ended the login, and the command asks the person to sign in again", async () => {
    await signIn(30);
    sso.revokeAllRefreshTokens();
    const { code, stderr } = await runCliInProcess(["bot", "list", "--workspace", tenant.workspaceId], env);
    expect([code, stderr]).toEqual([1, "parley: your login has ended: sign in again with parley login\n"]);
  });
});

test("parley logout revokes the refresh token and deletes the file", async () => {
  await signIn();
  const { refreshToken = "" } = await readLogin();
  expect(sso.isActive(refreshToken)).toBe(true);
  expect(await runCliJson(["logout"], env)).toEqual({ revoked: true });
  expect(sso.isActive(refreshToken)).toBe(false);
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
  const { code, stderr } = await runCliInProcess(["bot", "list", "--workspace", tenant.workspaceId], env);
  expect([code, stderr]).toEqual([1, expect.stringContaining("sign in with parley login")]);
});

test("parley logout during a refresh deletes and revokes the refreshed login", async () => {
  await signIn(30);
  sso.tokenDelayMs = 500;
  const command = runCliInProcess(["bot", "list", "--workspace", tenant.workspaceId], env);
  await vi.waitFor(() => expect(sso.tokenRequests).toHaveLength(1), { timeout: 10_000 });
  expect(await runCliJson(["logout"], env)).toEqual({ revoked: true });
  expect((await command).code).toBe(0);
  expect(sso.countActiveRefreshTokens()).toBe(0);
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
});

test("parley login stores its new login only after another command has finished refreshing the previous login", async () => {
  await signIn();
  const before = await readFile(path, "utf8");
  // Holds the lock, as a command that refreshes the login does.
  const lock = tryLockFile(`${path}.lock`);
  const login = runCliInProcess(["login", "--audience", "new"], env);
  await vi.waitFor(() => expect(sso.countActiveRefreshTokens()).toBe(2), { timeout: 10_000 });
  await sleep(200);
  expect(await readFile(path, "utf8")).toBe(before);
  lock?.release();
  expect((await login).code).toBe(0);
  expect(await readLogin()).toMatchObject({ parameters: { audience: "new" } });
});

test("parley login names PARLEY_LOGIN_FILE if it cannot store the login", async () => {
  await writeFile(join(dir, "file"), "");
  const unwritable = join(dir, "file", "parley", "login.json");
  sso.decision = "approve";
  const { code, stderr } = await runCliInProcess(["login"], { ...env, PARLEY_LOGIN_FILE: unwritable });
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining(
      `parley: cannot write ${unwritable} (ENOTDIR): set PARLEY_LOGIN_FILE to a path in a writable`,
    ),
  ]);
});

test("if the identity provider cannot revoke the refresh token, parley logout deletes the file and reports that the token was not revoked", async () => {
  sso.hasRevocationEndpoint = false;
  await signIn();
  const { code, stdout, stderr } = await runCliInProcess(["logout", "--json"], env);
  expect([code, JSON.parse(stdout)]).toEqual([0, { revoked: false }]);
  expect(stderr).toBe(
    "parley: the login was deleted but not revoked: the identity provider has no endpoint for revocation\n",
  );
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a refused sign-in leaves no file", async () => {
  sso.decision = "deny";
  const { code, stderr } = await runCliInProcess(["login"], env);
  expect([code, stderr]).toEqual([1, expect.stringContaining("parley: the sign-in was refused\n")]);
  await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" });
});

test("a sign-in ends when the code expires", async () => {
  sso.deviceCodeLifetimeS = 2;
  const { code, stderr } = await runCliInProcess(["login"], env);
  expect([code, stderr]).toEqual([1, expect.stringContaining("parley: the sign-in took too long: run parley login")]);
});

test.each([
  ["without an issuer", { PARLEY_LOGIN_ISSUER: "" }, 2, "PARLEY_LOGIN_ISSUER is not set"],
  ["with an issuer without TLS", { PARLEY_LOGIN_ISSUER: "http://sso.example.com" }, 1, "must be an https URL"],
  [
    "at an issuer that is down",
    { PARLEY_LOGIN_ISSUER: "http://127.0.0.1:1" },
    1,
    "the request to http://127.0.0.1:1 failed",
  ],
  ["with an unknown client", { PARLEY_LOGIN_CLIENT_ID: "other" }, 1, "does not know this client"],
])("a sign-in %s fails", async (_, changes, exitCode, message) => {
  const { code, stderr } = await runCliInProcess(["login"], { ...env, ...changes });
  expect([code, stderr]).toEqual([exitCode, expect.stringContaining(message)]);
});
