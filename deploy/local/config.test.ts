import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

describe("readConfig", () => {
  it("lists the variables that the console lacks with an identity provider", () => {
    const url = "https://sso.example";
    const sso = { JWT_ISSUER: url, JWT_AUDIENCE: "parley", JWKS_URL: `${url}/jwks` };
    const missing = (values: Record<string, string>) => readConfig(values, "/parley").missingConsoleVariables;
    expect(missing({})).toEqual([]);
    expect(missing(sso)).toEqual(["OIDC_CLIENT_ID", "JWT_ROLE_CLAIM"]);
    expect(missing({ ...sso, OIDC_CLIENT_ID: "console" })).toEqual(["JWT_ROLE_CLAIM"]);
    expect(missing({ ...sso, JWT_ROLE_CLAIM: "roles" })).toEqual(["OIDC_CLIENT_ID"]);
    expect(missing({ ...sso, OIDC_CLIENT_ID: "console", JWT_ROLE_CLAIM: "roles" })).toEqual([]);
  });

  it.each([
    [["JWT_ISSUER"], ["JWT_AUDIENCE", "JWKS_URL"]],
    [["JWT_ISSUER", "JWT_AUDIENCE"], ["JWKS_URL"]],
    [["JWKS_URL", "JWT_AUDIENCE"], ["JWT_ISSUER"]],
    [["JWKS_URL", "JWT_ISSUER"], ["JWT_AUDIENCE"]],
  ])("with %j of an identity provider, names only the missing settings %j", (present, missing) => {
    const values = Object.fromEntries(present.map((name) => [name, "https://sso.example"]));
    const message = (() => {
      try {
        return String(readConfig(values, "/parley"));
      } catch (error) {
        return (error as Error).message;
      }
    })();
    expect([...message.matchAll(/\bJW\w+/g)].map(String).toSorted()).toEqual(missing.toSorted());
  });

  it("listens only on this machine, unless PUBLIC_HOST is set", () => {
    expect(readConfig({}, "/parley").publicHost).toBe("localhost");
    expect(readConfig({ PUBLIC_HOST: "" }, "/parley").publicHost).toBe("localhost");
    expect(readConfig({ PUBLIC_HOST: "0.0.0.0" }, "/parley").publicHost).toBe("0.0.0.0");
  });
});
