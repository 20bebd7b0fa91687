import { describe, expect, it } from "vitest";
import { summarize } from "./summary.ts";

const FACTS = {
  edgeUrl: "http://localhost:8080",
  isLocalOnly: true,
  shopUrl: "http://localhost:8089",
  consoleUrl: "http://localhost:8090",
  missingConsoleVariables: [] as string[],
  publicKey: "svc_pk_abc",
  defaultModel: "builtin:extractive",
  dataDir: "/clone/.parley",
  databaseDir: "/clone/.parley/postgres",
  hasIdentityProvider: false,
  sessionId: "3b7abe90-615e-4a9f-ab6f-aaa9f703ad38",
};

describe("summarize", () => {
  it("prints a valid curl command", () => {
    const text = summarize(FACTS).replaceAll("\\\n", "");
    const [, url, origin, body] = /curl -N (\S+) -H 'Origin: (\S+)' .* -d '(.+)'/.exec(text) ?? [];
    expect([url, origin]).toEqual(["http://localhost:8080/api/chat/", "http://localhost:8089"]);
    expect(JSON.parse(body ?? "")).toEqual({
      public_key: "svc_pk_abc",
      session_id: FACTS.sessionId,
      message: "What is Parley?",
    });
  });

  it("names the variables that select another model, but only if the default model is built in", () => {
    expect(summarize(FACTS)).toContain("builtin:extractive (set OPENAI_API_KEY");
    expect(summarize({ ...FACTS, defaultModel: "openai:gpt-4o-mini" })).not.toContain("OPENAI_API_KEY");
  });

  it("names the database's directory when it is outside DATA_DIR", () => {
    expect(summarize(FACTS)).toContain("Data, logs   /clone/.parley\n");
    expect(summarize({ ...FACTS, databaseDir: undefined })).toContain("Data, logs   /clone/.parley\n");
    expect(summarize({ ...FACTS, databaseDir: "/var/lib/parley/1" })).toContain(
      "Data, logs   /clone/.parley (database: /var/lib/parley/1)\n",
    );
  });

  it("prints the console's address and how to sign in, or which variables the console needs", () => {
    expect(summarize(FACTS)).toContain("Console      http://localhost:8090 (one click signs you in");
    expect(summarize({ ...FACTS, hasIdentityProvider: true })).toContain("(sign in with your identity provider)");
    for (const missing of [["OIDC_CLIENT_ID", "JWT_ROLE_CLAIM"], ["OIDC_CLIENT_ID"], ["JWT_ROLE_CLAIM"]])
      expect(summarize({ ...FACTS, missingConsoleVariables: missing })).toContain(
        `Console      not started: set ${missing.join(" and ")}\n`,
      );
  });

  it("reports that only this machine can connect, and how to change that", () => {
    expect(summarize(FACTS)).toContain("http://localhost:8080 (only on this machine; PUBLIC_HOST=0.0.0.0 opens it");
    expect(summarize({ ...FACTS, isLocalOnly: false })).toContain("Address      http://localhost:8080\n");
  });

  it("suggests the command parley token only if hasIdentityProvider is false", () => {
    expect(summarize(FACTS)).toContain("parley token --workspace demo --role owner");
    expect(summarize({ ...FACTS, hasIdentityProvider: true })).not.toContain("parley token");
  });

  it("prints no shop address, public key or command for the workspace demo if that workspace is deleted", () => {
    const text = summarize({ ...FACTS, publicKey: undefined });
    expect(text).toContain("Sample shop  not started: the workspace demo is deleted\n");
    expect(text).toContain("  ./parley workspace list\n");
    expect(text).toContain("Console      http://localhost:8090 (its sign-in is for the deleted workspace demo)\n");
    expect(text).not.toMatch(/curl|undefined|Public key|--workspace demo/);
  });
});
