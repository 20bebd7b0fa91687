import { generateKeyPairSync } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { IdentityKeyAdminService, KeyAdminService } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { adminFailure, countResultsOfConcurrentInserts, RFC_3339, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";

const system = useTestSystem();
const { publicKey } = generateKeyPairSync("ed25519");
const jwk = publicKey.export({ format: "jwk" });

async function createWorkspace() {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  system.quota.workspaces.add(workspaceId);
  const identityKeys = system.createAdminClient(IdentityKeyAdminService);
  const { key } = await system
    .createAdminClient(KeyAdminService)
    .createKey({ ...botFields(bot), domains: ["a.example"] });
  const resolve = () => system.conversation.resolveKey({ publicKey: key?.publicKey ?? "" }, { timeoutMs: 5_000 });
  return { workspaceId, identityKeys, publicKey: key?.publicKey ?? "", resolve };
}

test("a secret is returned once; the edge gets it until it is revoked", async () => {
  const { workspaceId, identityKeys, resolve } = await createWorkspace();
  const { key, secret } = await identityKeys.createIdentityKey({ workspaceId });
  const kid = key?.kid ?? "";
  expect(key).toMatchObject({ workspaceId, algorithm: "HS256", createdAt: expect.stringMatching(RFC_3339) });
  expect(kid).toMatch(/^[0-9a-f]{16}$/);
  expect(secret).toMatch(/^parley_visitor_[\w-]{43}$/);
  expect(await identityKeys.listIdentityKeys({ workspaceId })).toMatchObject({ keys: [key] });
  expect((await resolve()).verificationKeys).toMatchObject([{ kid, algorithm: "HS256", key: secret }]);
  const { workspaceId: other } = await createWorkspace();
  for (const foreign of [
    { workspaceId: other, kid },
    { workspaceId, kid: "unknown" },
    { workspaceId: "a b", kid },
  ])
    expect(await adminFailure(identityKeys.revokeIdentityKey(foreign))).toMatchObject({
      code: Code.NotFound,
      parleyCode: "identity_key_not_found",
    });
  await identityKeys.revokeIdentityKey({ workspaceId, kid });
  expect((await resolve()).verificationKeys).toEqual([]);
  expect((await identityKeys.listIdentityKeys({ workspaceId })).keys).toEqual([]);
  expect(await adminFailure(identityKeys.revokeIdentityKey({ workspaceId, kid }))).toMatchObject({
    parleyCode: "identity_key_not_found",
  });
});

test("a public key keeps its kid, which is unique in the workspace", async () => {
  const { workspaceId, identityKeys, resolve } = await createWorkspace();
  const pemOrJwk = JSON.stringify({ ...jwk, kid: "2026" });
  const created = await identityKeys.createIdentityKey({ workspaceId, pemOrJwk });
  expect(created).toMatchObject({ key: { kid: "2026", algorithm: "EdDSA" }, secret: "" });
  expect((await resolve()).verificationKeys).toMatchObject([
    { kid: "2026", algorithm: "EdDSA", key: JSON.stringify(jwk) },
  ]);
  expect(await adminFailure(identityKeys.createIdentityKey({ workspaceId, pemOrJwk }))).toMatchObject({
    code: Code.AlreadyExists,
    parleyCode: "kid_taken",
  });
  const { workspaceId: other } = await createWorkspace();
  await identityKeys.createIdentityKey({ workspaceId: other, pemOrJwk });
  for (const invalid of [" ", "secret", "x".repeat(8_001)])
    expect(await adminFailure(identityKeys.createIdentityKey({ workspaceId, pemOrJwk: invalid }))).toMatchObject({
      parleyCode: "invalid_argument",
    });
});

test("a workspace that the quota service does not know gets no key", async () => {
  const { identityKeys } = await createWorkspace();
  expect(await adminFailure(identityKeys.createIdentityKey({ workspaceId: "unknown" }))).toMatchObject({
    code: Code.NotFound,
    parleyCode: "workspace_not_found",
  });
  expect((await identityKeys.listIdentityKeys({ workspaceId: "unknown" })).keys).toEqual([]);
});

test("concurrent calls create at most four keys", async () => {
  const { workspaceId, identityKeys } = await createWorkspace();
  const create = () => identityKeys.createIdentityKey({ workspaceId });
  expect(await countResultsOfConcurrentInserts(system.admin, "conversation.identity_keys", create)).toEqual({
    ok: 4,
    too_many_identity_keys: 16,
  });
  const [first] = (await identityKeys.listIdentityKeys({ workspaceId })).keys;
  await identityKeys.revokeIdentityKey({ workspaceId, kid: first?.kid ?? "" });
  await create();
});

test("a public key of the widget can require a visitor token", async () => {
  const { publicKey: key, resolve } = await createWorkspace();
  const keys = system.createAdminClient(KeyAdminService);
  expect((await resolve()).identity).toBe("optional");
  expect((await keys.updateKey({ publicKey: key, identity: "required" })).key).toMatchObject({
    identity: "required",
    allowedDomains: ["a.example"],
  });
  expect((await resolve()).identity).toBe("required");
  expect((await keys.updateKey({ publicKey: key, name: "n" })).key?.identity).toBe("required");
  expect(await adminFailure(keys.updateKey({ publicKey: key, identity: "never" }))).toMatchObject({
    parleyCode: "invalid_argument",
  });
  await keys.updateKey({ publicKey: key, identity: "optional" });
  expect((await resolve()).identity).toBe("optional");
});
