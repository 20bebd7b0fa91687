import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readConfig } from "../config.ts";
import { assignPorts } from "./ports.ts";
import { buildServiceSpecs, PRESET_KEY_VARIABLES } from "./services.ts";

const SECRETS = {
  adminToken: "admin-secret",
  internalToken: "internal-secret",
  sessionSecret: "session-secret",
  encryptionKey: "encryption-secret",
  databasePassword: "superuser-secret",
  conversationPassword: "conversation-secret",
  quotaPassword: "quota-secret",
  llmPassword: "llm-secret",
};

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "parley-services-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function buildEnvironments(values: Record<string, string>) {
  const config = readConfig({ PATH: "/bin", ...values }, dir);
  const specs = await buildServiceSpecs({
    config,
    ports: assignPorts(config.port),
    secrets: SECRETS,
    databaseUrl: "postgres://postgres:superuser-secret@127.0.0.1:8088/parley",
    tokenIssuer: { issuerSettings: null, serviceVariables: { JWT_ISSUER: "parley-development" } },
    widgetDir: "/widget",
    consoleDir: "/console",
  });
  return Object.fromEntries(Object.entries(specs).map(([name, { env }]) => [name, env]));
}

/** Returns the services whose environment contains a text. */
const findServicesWith = (all: Record<string, Record<string, string>>, text: string) =>
  Object.keys(all).filter((name) => JSON.stringify(all[name]).includes(text));

describe("buildServiceSpecs", () => {
  it("passes each secret only to the services that need it", async () => {
    const all = await buildEnvironments({
      OPENAI_API_KEY: "openai-secret",
      REDIS_URL: "redis://:redis-secret@h",
      OTHER: "other",
    });
    expect(findServicesWith(all, "superuser-secret")).toEqual([]);
    expect(findServicesWith(all, "conversation-secret")).toEqual(["conversation"]);
    expect(findServicesWith(all, "quota-secret")).toEqual(["quota"]);
    expect(findServicesWith(all, "llm-secret")).toEqual(["llm-proxy"]);
    expect(findServicesWith(all, "openai-secret")).toEqual(["llm-proxy"]);
    expect(findServicesWith(all, "redis-secret")).toEqual(["edge"]);
    expect(findServicesWith(all, "admin-secret")).toEqual(["quota", "conversation", "llm-proxy"]);
    expect(findServicesWith(all, "internal-secret")).toEqual(["quota", "conversation", "llm-proxy", "edge"]);
    expect(findServicesWith(all, "session-secret")).toEqual(["console"]);
    expect(findServicesWith(all, "OTHER")).toEqual([]);
  });

  it("passes RPC_MULTIPLEX to the services that call other services over gRPC", async () => {
    const all = await buildEnvironments({ RPC_MULTIPLEX: "off" });
    expect(findServicesWith(all, "RPC_MULTIPLEX")).toEqual(["conversation", "edge"]);
  });

  it("derives the services' ports and *_TARGET variables from PORT, and passes quota a DATABASE_URL with its own role", async () => {
    const all = await buildEnvironments({ PORT: "9000" });
    expect(all.edge).toMatchObject({
      PORT: "9000",
      OPS_PORT: "9001",
      CONVERSATION_TARGET: "127.0.0.1:9002",
      QUOTA_TARGET: "127.0.0.1:9004",
      LLM_TARGET: "127.0.0.1:9006",
    });
    expect(all.conversation).toMatchObject({ GRPC_PORT: "9002", OPS_PORT: "9003", QUOTA_TARGET: "127.0.0.1:9004" });
    expect(all.quota).toMatchObject({
      GRPC_PORT: "9004",
      OPS_PORT: "9005",
      DATABASE_URL: "postgres://parley_quota:quota-secret@127.0.0.1:8088/parley",
    });
  });

  it.each([
    [{}, "http://127.0.0.1:8080", "http://localhost:8080"],
    [{ PUBLIC_HOST: "0.0.0.0" }, "http://127.0.0.1:8080", "http://localhost:8080"],
    [{ PUBLIC_HOST: "::1" }, "http://[::1]:8080", "http://[::1]:8080"],
    [{ PUBLIC_HOST: "::" }, "http://127.0.0.1:8080", "http://localhost:8080"],
    [{ PUBLIC_HOST: "192.0.2.5" }, "http://192.0.2.5:8080", "http://192.0.2.5:8080"],
    [{ PUBLIC_HOST: "2001:db8::5", PORT: "9000" }, "http://[2001:db8::5]:9000", "http://[2001:db8::5]:9000"],
  ])(
    "with the environment %j, passes EDGE_URL %s and PUBLIC_EDGE_URL %s to the console",
    async (values, edgeUrl, publicEdgeUrl) => {
      const all = await buildEnvironments(values);
      expect(all.console).toMatchObject({ EDGE_URL: edgeUrl, PUBLIC_EDGE_URL: publicEdgeUrl });
    },
  );

  it("tells the edge to listen only on this machine, unless PUBLIC_HOST is set", async () => {
    expect((await buildEnvironments({})).edge).toMatchObject({ PUBLIC_HOST: "localhost", HOST: "127.0.0.1" });
    expect((await buildEnvironments({ PUBLIC_HOST: "0.0.0.0" })).edge).toMatchObject({ PUBLIC_HOST: "0.0.0.0" });
  });

  it("with LLM_CONFIG, passes only the provider keys that LLM_CONFIG names, and only to llm-proxy", async () => {
    await writeFile(join(dir, "llm.yaml"), "providers:\n  groq: { api_key_env: GROQ_API_KEY }\n");
    const all = await buildEnvironments({
      LLM_CONFIG: "llm.yaml",
      GROQ_API_KEY: "groq-secret",
      MISTRAL_API_KEY: "mistral-secret",
    });
    expect(all["llm-proxy"]).toMatchObject({ LLM_CONFIG: join(dir, "llm.yaml"), GROQ_API_KEY: "groq-secret" });
    expect(findServicesWith(all, "groq-secret")).toEqual(["llm-proxy"]);
    expect(findServicesWith(all, "mistral-secret")).toEqual([]);
  });

  it("with LLM_CONFIG, passes the key variables of the presets that LLM_CONFIG names", async () => {
    await writeFile(join(dir, "llm.yaml"), "providers:\n  fast: { preset: groq }\n");
    const keys = { GROQ_API_KEY: "groq-secret", MISTRAL_API_KEY: "mistral-secret" };
    const all = await buildEnvironments({ LLM_CONFIG: "llm.yaml", ...keys });
    expect(findServicesWith(all, "groq-secret")).toEqual(["llm-proxy"]);
    expect(findServicesWith(all, "mistral-secret")).toEqual([]);
  });

  it("PRESET_KEY_VARIABLES has the key variable of every preset of llm-proxy", async () => {
    const presets = await readFile(
      new URL("../../../services/llm-proxy/src/settings/presets.ts", import.meta.url),
      "utf8",
    );
    const keys = presets.matchAll(/(\w+): \{[^{}]*apiKeyEnv: "(\w+)"/g);
    expect(PRESET_KEY_VARIABLES).toEqual(Object.fromEntries([...keys].map(([, name, variable]) => [name, variable])));
  });

  it("passes the path of a file with a secret as an absolute path", async () => {
    await writeFile(join(dir, "llm.yaml"), "providers:\n  house: { base_url: http://house, api_key_env: HOUSE_KEY }\n");
    const all = await buildEnvironments({
      LLM_CONFIG: "llm.yaml",
      HOUSE_KEY_FILE: "house.key",
      OPENAI_API_KEY_FILE: "/run/openai.key",
      REDIS_URL_FILE: "redis.url",
    });
    expect(all["llm-proxy"]).toMatchObject({
      HOUSE_KEY_FILE: join(dir, "house.key"),
      OPENAI_API_KEY_FILE: "/run/openai.key",
    });
    expect(all.edge).toMatchObject({ REDIS_URL_FILE: join(dir, "redis.url") });
    expect(findServicesWith(all, join(dir, "house.key"))).toEqual(["llm-proxy"]);
  });

  it("reports an unreadable LLM_CONFIG", async () => {
    await expect(buildEnvironments({ LLM_CONFIG: "nowhere.yaml" })).rejects.toThrow(
      /cannot read LLM_CONFIG .*nowhere\.yaml \(ENOENT\)/,
    );
  });

  it("uses the environment's identity provider instead of the development issuer", async () => {
    const sso = { JWT_ISSUER: "https://sso.example", JWT_AUDIENCE: "parley", JWKS_URL: "https://sso.example/keys" };
    expect((await buildEnvironments(sso)).edge).toMatchObject(sso);
  });
});
