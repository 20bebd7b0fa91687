import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ensureIssuer, signToken } from "./issuer.ts";

const SETTINGS = { issuer: "parley-development", audience: "parley", workspaceClaim: "workspace_id" };
const NOW_SECONDS = Math.floor(Date.now() / 1000);
const REQUEST = { workspaceId: "acme", userId: "ada", ttlSeconds: 3_600, nowSeconds: NOW_SECONDS };

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-issuer-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const readKeys = async (url: string) => JSON.parse(await readFile(new URL(url), "utf8")) as JSONWebKeySet;

describe("the development issuer", () => {
  it("signs tokens that verify against its key set and have every claim the edge requires", async () => {
    const keys = await readKeys(await ensureIssuer(dir));
    const { payload, protectedHeader } = await jwtVerify(
      await signToken(dir, SETTINGS, REQUEST),
      createLocalJWKSet(keys),
      {
        issuer: SETTINGS.issuer,
        audience: SETTINGS.audience,
      },
    );
    expect(payload).toEqual({
      iss: "parley-development",
      aud: "parley",
      sub: "ada",
      workspace_id: "acme",
      iat: NOW_SECONDS,
      exp: NOW_SECONDS + 3_600,
    });
    expect(protectedHeader).toMatchObject({ alg: "ES256", kid: keys.keys[0]?.kid });
  });

  it("keeps its key across starts", async () => {
    const first = await readKeys(await ensureIssuer(dir));
    expect(await readKeys(await ensureIssuer(dir))).toEqual(first);
  });

  it("publishes only the key's public fields, and writes the private key to a file that only its owner can read", async () => {
    const { keys } = await readKeys(await ensureIssuer(dir));
    expect(new Set(Object.keys(keys[0] ?? {}))).toEqual(new Set(["alg", "crv", "kid", "kty", "use", "x", "y"]));
    expect((await stat(join(dir, "issuer-key.json"))).mode & 0o077).toBe(0);
  });

  it("fails with the path of a damaged key file and the remedy", async () => {
    const path = join(dir, "issuer-key.json");
    await writeFile(path, '{"kty":"EC",');
    const expected = `${path} is damaged: delete it and start Parley again; tokens that its key signed become invalid`;
    await expect(ensureIssuer(dir)).rejects.toThrow(expected);
    await expect(signToken(dir, SETTINGS, REQUEST)).rejects.toThrow(expected);
  });

  it("fails with the advice to start Parley when there is no key", async () => {
    await expect(signToken(dir, SETTINGS, REQUEST)).rejects.toThrow("start Parley once");
  });
});
