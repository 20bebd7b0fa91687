import { startToolServer, type ToolServer } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startTestProxy, type TestProxy } from "../testing/llm-proxy.ts";
import { definePortableRows } from "../testing/portable-rows.ts";

/** By preset: the variables that its provider needs, its settings, and a cheap model that does not think by itself. */
const PROVIDERS = {
  openai: { needs: ["OPENAI_API_KEY"], settings: "", model: "gpt-4o-mini" },
  anthropic: { needs: ["ANTHROPIC_API_KEY"], settings: "", model: "claude-haiku-4-5" },
  google: { needs: ["GEMINI_API_KEY"], settings: "", model: "gemini-2.5-flash-lite" },
  mistral: { needs: ["MISTRAL_API_KEY"], settings: "", model: "mistral-small-latest" },
  vertex: {
    needs: ["LIVE_VERTEX_PROJECT", "LIVE_VERTEX_LOCATION"],
    settings: `, project: ${process.env.LIVE_VERTEX_PROJECT}, location: ${process.env.LIVE_VERTEX_LOCATION}`,
    model: "gemini-2.5-flash-lite",
  },
  azure: {
    needs: ["LIVE_AZURE_RESOURCE", "LIVE_AZURE_MODEL"],
    settings: `, resource: ${process.env.LIVE_AZURE_RESOURCE}`,
    model: "",
  },
  bedrock: {
    needs: ["LIVE_BEDROCK_REGION"],
    settings: `, region: ${process.env.LIVE_BEDROCK_REGION}`,
    model: "amazon.nova-lite-v1:0",
  },
} as const;
type Preset = keyof typeof PROVIDERS;

const isLive = process.env.LIVE_PROVIDER_TESTS === "1";
const presets = (Object.keys(PROVIDERS) as Preset[]).filter((preset) =>
  PROVIDERS[preset].needs.every((name) => process.env[name]),
);

describe.runIf(isLive)("with LIVE_PROVIDER_TESTS", () => {
  test("at least one provider has its variables", () => {
    expect(presets).not.toEqual([]);
  });
});

describe.runIf(isLive && presets.length > 0)("the real providers", () => {
  let tools: ToolServer;
  let proxy: TestProxy;
  beforeAll(async () => {
    tools = await startToolServer();
    const keys = presets.flatMap((preset) => PROVIDERS[preset].needs.map((name) => [name, process.env[name] ?? ""]));
    proxy = await startTestProxy({
      environment: { ...Object.fromEntries(keys), EGRESS_ALLOW: "127.0.0.1" },
      config: `
        providers:
          ${presets.map((preset) => `${preset}: { preset: ${preset}${PROVIDERS[preset].settings} }`).join("\n          ")}
      `,
    });
  });
  afterAll(async () => {
    await proxy.drop();
    await tools.close();
  });
  beforeEach(() => {
    tools.requests.length = 0;
  });

  // A provider without its variables is skipped, and reported as skipped.
  for (const preset of Object.keys(PROVIDERS) as Preset[])
    describe.runIf(presets.includes(preset))(preset, { timeout: 60_000 }, () => {
      const model = `${preset}:${process.env[`LIVE_${preset.toUpperCase()}_MODEL`] ?? PROVIDERS[preset].model}`;
      definePortableRows(() => ({ proxy, tools, model, script: () => undefined }));
    });
});
