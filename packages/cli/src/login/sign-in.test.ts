import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeLogin } from "./login-file.ts";
import { readAccessToken } from "./sign-in.ts";

/** Stores a login whose access token is valid for `lifetimeS` seconds; by default without a refresh token. Returns the file's path. */
async function storeLogin(lifetimeS: number, tokens: { refreshToken?: string } = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "parley-sign-in-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const path = join(dir, "login.json");
  const expiresAt = Date.now() / 1_000 + lifetimeS;
  await writeLogin(path, {
    issuer: "https://sso.example",
    clientId: "cli",
    parameters: {},
    accessToken: "token",
    ...tokens,
    expiresAt,
  });
  return path;
}

const readToken = (path: string) => readAccessToken(path, () => undefined);

test("a login without a refresh token is valid until its access token expires", async () => {
  expect(await readToken(await storeLogin(30))).toBe("token");
  await expect(readToken(await storeLogin(-1))).rejects.toThrow(
    "your login has ended: sign in again with parley login",
  );
});

test("if the login cannot be locked for a refresh, the stored access token is used until it expires", async () => {
  const [valid, expired] = [await storeLogin(30, { refreshToken: "r" }), await storeLogin(-1, { refreshToken: "r" })];
  // A directory in place of the lock file prevents locking, also as root.
  for (const path of [valid, expired]) await mkdir(`${path}.lock`);
  expect(await readToken(valid)).toBe("token");
  await expect(readToken(expired)).rejects.toThrow(`cannot write ${expired}`);
});
