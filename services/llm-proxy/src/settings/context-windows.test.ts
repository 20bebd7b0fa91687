import { describe, expect, test } from "vitest";
import { parseSettings } from "./parse.ts";
import { findContextWindow } from "./settings.ts";

function windowOf(provider: string, model: string): number | undefined {
  const file = `providers: { p: { ${provider} } }`;
  const [settings] = parseSettings(file, { defaultModel: undefined, readSecret: () => "key" }).providers;
  return settings && findContextWindow(settings, model);
}

test.each([
  ["eu.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000],
  ["anthropic.claude-3-haiku-20240307-v1:0", 200_000],
  ["anthropic.claude-v2:1", 200_000],
  ["anthropic.claude-v2", 100_000],
  ["amazon.nova-micro-v1:0", 128_000],
  ["us.amazon.nova-lite-v1:0", 300_000],
  ["amazon.nova-pro-v1:0", 300_000],
  ["us.amazon.nova-premier-v1:0", 1_000_000],
  ["amazon.titan-text-lite-v1", 4_096],
  ["amazon.titan-text-express-v1", 8_192],
  ["meta.llama3-8b-instruct-v1:0", 8_192],
  ["meta.llama3-1-8b-instruct-v1:0", 128_000],
  ["mistral.mixtral-8x7b-instruct-v0:1", 32_000],
  ["mistral.mistral-large-2407-v1:0", 128_000],
  ["cohere.command-r-plus-v1:0", 128_000],
  ["ai21.jamba-1-5-mini-v1:0", 256_000],
  ["arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.anthropic.claude-haiku-4-5-20251001-v1:0", 200_000],
  ["openai.gpt-oss-120b-1:0", 128_000],
])("Bedrock's %s has a window of %i tokens", (model, tokens) => {
  expect(windowOf("preset: bedrock, region: eu-central-1", model)).toBe(tokens);
});

test.each([
  ["gpt-4", 8_192],
  ["gpt-4-0613", 8_192],
  ["gpt-4o", 128_000],
  ["gpt-3.5-turbo-0125", 16_385],
])("OpenAI's %s has a window of %i tokens", (model, tokens) => {
  expect(windowOf("preset: openai", model)).toBe(tokens);
});

describe("the operator's windows", () => {
  test("of a name win over the preset's, and others keep the preset's", () => {
    const provider = 'preset: bedrock, region: eu-central-1, context_windows: { "*.claude-sonnet-4-*": 1000000 }';
    expect(windowOf(provider, "eu.anthropic.claude-sonnet-4-5-20250929-v1:0")).toBe(1_000_000);
    expect(windowOf(provider, "eu.anthropic.claude-haiku-4-5-20251001-v1:0")).toBe(200_000);
  });

  test("of every model replace all of the preset's", () => {
    const provider = 'preset: bedrock, region: eu-central-1, context_windows: { "*": 16384, "a.b": 4096 }';
    expect(windowOf(provider, "amazon.nova-lite-v1:0")).toBe(16_384);
    expect(windowOf(provider, "a.b")).toBe(4_096);
    // A dot is a dot.
    expect(windowOf(provider, "axb")).toBe(16_384);
  });
});
