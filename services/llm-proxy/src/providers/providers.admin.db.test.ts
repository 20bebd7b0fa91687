import { type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestProxy } from "../testing/llm-proxy.ts";

let provider: FakeProvider;
beforeAll(async () => {
  provider = await startFakeProvider();
});
afterAll(() => provider.close());

describe("ProviderAdminService", () => {
  test("lists the configured providers, sorted by name and without their keys, and reports the result of each check", async () => {
    const proxy = await startTestProxy({
      environment: {
        OPENAI_BASE_URL: provider.url,
        OPENAI_API_KEY: "sk-secret",
        OLLAMA_HOST: "127.0.0.1:1",
        DEFAULT_MODEL: "openai:gpt",
      },
    });
    try {
      const listed = await proxy.admin.providers.listProviders({});
      expect(listed.defaultModel).toBe("openai:gpt");
      expect(listed.providers).toMatchObject([
        { name: "builtin", baseUrl: "", checkModel: "builtin:extractive", isDefault: false },
        { name: "ollama", baseUrl: "http://127.0.0.1:1/v1", checkModel: "", isDefault: false },
        { name: "openai", baseUrl: provider.url, checkModel: "openai:gpt", isDefault: true },
      ]);
      expect(
        JSON.stringify(listed, (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value)),
      ).not.toContain("sk-secret");
      expect(await proxy.admin.providers.checkProvider({ model: "openai:first-50" })).toMatchObject({
        result: "ok",
        tokensOut: 34,
      });
      expect(
        (await proxy.admin.providers.checkProvider({ model: "openai:first-50" })).firstTokenMs,
      ).toBeGreaterThanOrEqual(50);
      for (const [model, result] of [
        ["openai:status-401", "provider_auth"],
        ["unknown:x", "model_unknown"],
        ["builtin:extractive", "ok"],
      ] as const) {
        expect((await proxy.admin.providers.checkProvider({ model })).result).toBe(result);
      }
      await expect(proxy.admin.providers.checkProvider({})).rejects.toThrow("model is missing");
    } finally {
      await proxy.drop();
    }
  });

  test("refuses a call without the admin token", async () => {
    const proxy = await startTestProxy();
    try {
      const response = await fetch(`${proxy.opsUrl}/parley.llm.v1.ProviderAdminService/ListProviders`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      expect(response.status).toBe(401);
    } finally {
      await proxy.drop();
    }
  });
});
