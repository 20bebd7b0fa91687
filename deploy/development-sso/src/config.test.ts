import { readFile } from "node:fs/promises";
import { describe, expect, it, test } from "vitest";
import { readConfig } from "./config.ts";

describe("the development sign-in", () => {
  it("refuses to start if JWT_ISSUER names another identity provider", () => {
    expect(() => readConfig({ JWT_ISSUER: "https://sso.example" })).toThrow(
      "JWT_ISSUER names another identity provider",
    );
    expect(readConfig({ JWT_ISSUER: "http://localhost:8094" }).issuer).toBe("http://localhost:8094");
  });

  it("refuses an ISSUER whose host is not a loopback host", () => {
    expect(() => readConfig({ ISSUER: "http://sso.example:8094" })).toThrow("ISSUER must have a loopback host");
    expect(readConfig({ ISSUER: "http://sso.localhost:8094" }).issuer).toBe("http://sso.localhost:8094");
  });

  it("does not let clients request tokens for arbitrary workspaces by default", () => {
    expect(readConfig({}).issuesAnyToken).toBe(false);
  });
});

test("docker-compose.yml uses SSO_PORT wherever it names the issuer's port", async () => {
  const compose = await readFile(new URL("../../../docker-compose.yml", import.meta.url), "utf8");
  const port = /\$\{SSO_PORT:-8094\}/g;
  expect(compose).toMatch(/ISSUER: http:\/\/sso\.localhost:\$\{SSO_PORT:-8094\}/);
  expect(compose.replaceAll(port, "")).not.toContain("8094");
});
