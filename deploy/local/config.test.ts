import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

describe("readConfig", () => {
  it("sets hasConsole if no identity provider is configured, or if OIDC_CLIENT_ID and JWT_ROLE_CLAIM are set", () => {
    const url = "https://sso.example";
    const sso = { JWT_ISSUER: url, JWT_AUDIENCE: "parley", JWKS_URL: `${url}/jwks` };
    const hasConsole = (values: Record<string, string>) => readConfig(values, "/parley").hasConsole;
    expect(hasConsole({})).toBe(true);
    expect(hasConsole({ ...sso, OIDC_CLIENT_ID: "console" })).toBe(false);
    expect(hasConsole({ ...sso, OIDC_CLIENT_ID: "console", JWT_ROLE_CLAIM: "roles" })).toBe(true);
  });
});
