import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeLogin } from "./login-file.ts";
import { readAccessToken } from "./sign-in.ts";

/** Stores a login that has no refresh token and an access token for `lifetimeS` seconds. Returns the result of readAccessToken. */
async function readToken(lifetimeS: number): Promise<string | undefined> {
  const dir = await mkdtemp(join(tmpdir(), "parley-sign-in-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const path = join(dir, "login.json");
  const expiresAt = Date.now() / 1_000 + lifetimeS;
  await writeLogin(path, {
    issuer: "https://sso.example",
    clientId: "cli",
    parameters: {},
    accessToken: "token",
    expiresAt,
  });
  return readAccessToken(path, () => undefined);
}

test("a login without a refresh token is valid until its access token expires", async () => {
  expect(await readToken(30)).toBe("token");
  await expect(readToken(-1)).rejects.toThrow("your login has ended: sign in again with parley login");
});
