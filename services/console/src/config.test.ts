import { ConfigError, readSecret } from "@parley/service-kit";
import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

const VALUES = {
  SESSION_SECRET: "a secret of at least 32 characters",
  CONSOLE_URL: "https://console.example",
  JWT_ISSUER: "https://sso.example",
  JWT_AUDIENCE: "parley",
  JWKS_URL: "https://sso.example/jwks",
  JWT_ROLE_CLAIM: "roles",
  JWT_OWNER_ROLES: "parley-owner",
  OIDC_CLIENT_ID: "console",
  CONVERSATION_URL: "http://conversation:8083",
  QUOTA_URL: "http://quota:8085",
  EDGE_URL: "http://edge:8080",
  CONSOLE_DIR: "/page",
  WIDGET_DIR: "/widget",
};

function problemsOf(changes: Record<string, string>): readonly string[] {
  try {
    readConfig({ ...VALUES, ...changes });
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
}

describe("the console's configuration", () => {
  it("reports each missing variable", () => {
    expect(() => readConfig({})).toThrow(ConfigError);
    for (const name of Object.keys(VALUES)) expect(problemsOf({ [name]: "" }).join()).toContain(name);
  });

  it("refuses an http URL unless its host is this machine", () => {
    expect(problemsOf({ CONSOLE_URL: "http://console.example" }).join()).toContain("CONSOLE_URL must be an https URL");
    expect(problemsOf({ JWT_ISSUER: "http://sso.example" }).join()).toContain("JWT_ISSUER must be an https URL");
    expect(problemsOf({ CONSOLE_URL: "http://localhost:8090", JWT_ISSUER: "http://sso.localhost:8094" })).toEqual([]);
  });

  it("refuses a CONSOLE_URL that is not an HTTP URL", () => {
    for (const url of ["console.example", "ftp://localhost"])
      expect(problemsOf({ CONSOLE_URL: url })).toEqual([
        "CONSOLE_URL must be an https URL, or an http URL of this machine",
      ]);
  });

  it("reads the role claim and the roles of owners, agents and viewers", () => {
    const values = {
      ...VALUES,
      JWT_ROLE_CLAIM: "realm.roles",
      JWT_AGENT_ROLES: "support",
      JWT_VIEWER_ROLES: "reader, guest",
    };
    expect(readConfig(values).jwt).toMatchObject({
      roles: { claim: "realm.roles", owner: ["parley-owner"], agent: ["support"], viewer: ["reader", "guest"] },
    });
  });

  it("refuses a short secret", () => {
    expect(problemsOf({ SESSION_SECRET: "short" }).join()).toContain("at least 32 characters");
    expect(problemsOf({ SESSION_SECRET: `${VALUES.SESSION_SECRET}\nshort` }).join()).toContain(
      "at least 32 characters",
    );
  });

  it("reads one session secret from each line", () => {
    const read = (text: string) => readSecret(readConfig({ ...VALUES, SESSION_SECRET: text }).sessionSecrets);
    const other = "another secret of 32 characters!!";
    expect(read(VALUES.SESSION_SECRET)).toEqual([VALUES.SESSION_SECRET]);
    expect(read(`${other}\r\n\n ${VALUES.SESSION_SECRET}\n`)).toEqual([other, VALUES.SESSION_SECRET]);
  });
});
