import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { NODE_FLAGS } from "../local/migrate-service.ts";
import { FAULTS, respond, startProvider, storeLoginAndReadToken, TOKENS, tryToSignIn } from "../testing/sign-in.ts";
import { readLogin, writeLogin } from "./login-file.ts";

/**
 * Reads the access token in a process that can write at most 16 blocks to a file (8 or 16 KiB, depending on the shell). Returns the token or the
 * error's message.
 */
async function readTokenOnSmallDisk(path: string): Promise<string> {
  const code = `
    import { readAccessToken } from ${JSON.stringify(new URL("sign-in.ts", import.meta.url).href)};
    const token = readAccessToken(${JSON.stringify(path)}, () => undefined);
    console.log(await token.catch(({ message }) => message));`;
  const node = [process.execPath, ...NODE_FLAGS, "--input-type=module", "-e", code];
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", 'ulimit -f 16 && exec "$@"', "sh", ...node]);
  return stdout.trimEnd();
}

describe.concurrent("a sign-in", () => {
  test("whose code the identity provider refuses asks the user to start again", async (context) => {
    const issuer = await startProvider(context, (_, response) => respond(response, 400, { error: "invalid_grant" }));
    expect(await tryToSignIn(issuer)).toEqual({
      result: "the identity provider no longer accepts the code: run parley login again",
      notices: [],
    });
  });
});

describe.concurrent("an access token that expires soon", () => {
  test.for(Object.entries(FAULTS))(
    "is used until it expires if the refresh fails with %s",
    async ([, fault], context) => {
      const issuer = await startProvider(context, fault);
      // The first token expires in 60 s. The second has expired, so reading it fails with an error that names the issuer.
      const tokenAndError = Promise.all([
        storeLoginAndReadToken(context, issuer, 60),
        storeLoginAndReadToken(context, issuer, 0),
      ]);
      expect(await tokenAndError).toEqual(["stored", expect.stringContaining(issuer)]);
    },
  );

  test("is not used if the identity provider refuses the refresh", async (context) => {
    const issuer = await startProvider(context, (_, response) => respond(response, 400, { error: "invalid_grant" }));
    expect(await storeLoginAndReadToken(context, issuer, 60)).toBe(
      "your login has ended: sign in again with parley login",
    );
  });
});

describe.concurrent("a login on an almost full disk", () => {
  test.for([
    ["is used while its access token is valid", 60, "stored"],
    ["is reported as not writable if its access token has expired", -1, "cannot write PATH (EFBIG): "],
  ] as const)("keeps its refresh token, and %s", async ([, lifetimeS, expected], context) => {
    let refreshes = 0;
    const issuer = await startProvider(context, (_, response) => {
      refreshes += 1;
      respond(response, 200, { ...TOKENS, refresh_token: "r".repeat(20_000) });
    });
    const dir = await mkdtemp(join(tmpdir(), "parley-full-disk-"));
    context.onTestFinished(() => rm(dir, { recursive: true }));
    const path = join(dir, "login.json");
    const expiresAt = Math.floor(Date.now() / 1_000) + lifetimeS;
    const stored = { accessToken: "stored", refreshToken: "refresh", expiresAt };
    await writeLogin(path, { issuer, clientId: "cli", parameters: {}, ...stored });
    expect(await readTokenOnSmallDisk(path)).toContain(expected.replace("PATH", path));
    expect(refreshes).toBe(0);
    expect(await readLogin(path)).toMatchObject(stored);
    expect((await readdir(dir)).sort()).toEqual(["login.json", "login.json.lock"]);
  });
});
