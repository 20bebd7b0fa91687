import { UnsecuredJWT } from "jose";
import { describe, expect, it } from "vitest";
import { describeSession, MAX_SESSION_MS, readAgent, readClaims, safeReturnPath } from "./session.ts";

const TOKEN_OPTIONS = {
  audience: "parley",
  workspaceClaim: "workspace_id",
  roles: { claim: "roles", owner: ["parley-owner"], agent: ["parley-agent"], viewer: ["parley-viewer"] },
};
const CLAIMS = { aud: "parley", sub: "u1", exp: 2_000_000_000, workspace_id: "acme" };
const token = (changes: Record<string, unknown> = {}) => new UnsecuredJWT({ ...CLAIMS, ...changes }).encode();

describe("readClaims", () => {
  it("returns the user, the workspace, the role and the expiry of the token", () => {
    expect(readClaims(token({ name: "Ada", roles: ["parley-owner"] }), TOKEN_OPTIONS)).toEqual({
      user: "Ada",
      agent: { id: "u1", name: "Ada" },
      workspaceId: "acme",
      role: "owner",
      expiresAtMs: 2_000_000_000_000,
    });
  });

  it.each([
    ["no claim sub as the name", {}, { id: "u1", name: "Agent" }],
    ["the part of an e-mail address before the @", { email: "ada.l@acme.example" }, { id: "u1", name: "ada.l" }],
    ["no blank name, which the edge would refuse", { name: " ", email: "ada@acme.example" }, { id: "u1", name: "ada" }],
    ["a long name, cut", { name: "a".repeat(300) }, { id: "u1", name: "a".repeat(200) }],
    [
      "a long id, hashed",
      { sub: "u".repeat(201), name: "Ada" },
      { id: expect.stringMatching(/^[0-9a-f]{64}$/), name: "Ada" },
    ],
  ])("shows visitors %s", (_, changes, agent) => {
    expect(readClaims(token(changes), TOKEN_OPTIONS)).toMatchObject({ agent });
    expect(readAgent(`Bearer ${token(changes)}`)).toEqual(agent);
  });

  it.each([
    ["an opaque token", "opaque", "token_not_jwt"],
    ["a token without an expiry", token({ exp: undefined }), "token_not_jwt"],
    ["a token for another audience", token({ aud: ["other"] }), "wrong_audience"],
    ["a token without a workspace", token({ workspace_id: undefined }), "no_workspace"],
    ["a workspace that is not a string", token({ workspace_id: 7 }), "no_workspace"],
  ])("refuses %s", (_, text, problem) => {
    expect(readClaims(text, TOKEN_OPTIONS)).toBe(problem);
  });

  it("accepts a list of audiences", () => {
    expect(readClaims(token({ aud: ["other", "parley"] }), TOKEN_OPTIONS)).toMatchObject({ workspaceId: "acme" });
  });
});

describe("describeSession", () => {
  const session = (startedAtMs: number, accessToken = token()) => ({
    accessToken,
    refreshToken: undefined,
    startedAtMs,
  });

  it.each([
    [["parley-owner"], "owner"],
    ["parley-agent", "agent"],
    ["parley-viewer", "viewer"],
    [["other"], undefined],
    [undefined, undefined],
  ])("for a token with the roles %j, returns the role %s", (roles, role) => {
    expect(describeSession(session(0, token({ roles })), TOKEN_OPTIONS, 0)?.role).toBe(role);
  });

  it("returns undefined when the access token has expired", () => {
    const nowMs = 2_000_000_000_000;
    expect(describeSession(session(nowMs), TOKEN_OPTIONS, nowMs - 1)).toMatchObject({ workspace_id: "acme" });
    expect(describeSession(session(nowMs), TOKEN_OPTIONS, nowMs)).toBeUndefined();
  });

  it("returns undefined 12 hours after the sign-in, even with a valid token", () => {
    expect(describeSession(session(0), TOKEN_OPTIONS, MAX_SESSION_MS - 1)?.expires_at).toBe("1970-01-01T12:00:00.000Z");
    expect(describeSession(session(0), TOKEN_OPTIONS, MAX_SESSION_MS)).toBeUndefined();
  });
});

describe("safeReturnPath", () => {
  it.each([
    ["/keys?bot=a", "/keys?bot=a"],
    ["https://evil.example/", "/"],
    ["//evil.example/x", "/"],
    ["/\\evil.example", "/"],
    ["/.//evil.example", "/"],
    ["/..//evil.example/x", "/"],
    ["/%2e//evil.example", "/"],
    ["/%2E%2e//evil.example", "/"],
    ["/./\\evil.example", "/"],
    ["/keys/..//evil.example", "/"],
    [".//evil.example", "/"],
    ["/\t/evil.example", "/"],
    ["/.\n//evil.example", "/"],
    ["http://console.invalid//evil.example", "/"],
    ["http://console.invalid/\\evil.example", "/"],
    ["/keys//x?next=//evil.example", "/keys//x?next=//evil.example"],
    ["javascript:alert(1)", "/"],
    ["blob:http://console.invalid/x", "/"],
    [undefined, "/"],
  ])("turns %j into %j", (path, safe) => {
    expect(safeReturnPath(path)).toBe(safe);
  });

  it("returns / for a path that is too long for the sign-in cookie", () => {
    expect(safeReturnPath(`/keys?bot=${"a".repeat(1_900)}`)).toMatch(/^\/keys/);
    expect(safeReturnPath(`/keys?bot=${"a".repeat(3_000)}`)).toBe("/");
  });
});
