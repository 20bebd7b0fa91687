import { create } from "@bufbuild/protobuf";
import { ModelSettingsSchema } from "@parley/rpc/llm";
import { describe, expect, test } from "vitest";
import { findKnownProblem, readModelSettings, resolveSampling } from "./sampling.ts";
import {
  type NativeKind,
  type OpenAiSettings,
  PROVIDER_DEFAULTS,
  type RemoteSettings,
  type Sampling,
} from "./settings.ts";

describe("the settings of a bot", () => {
  test("win over the provider's, one by one", () => {
    const provider: Sampling = { temperature: 0.2, reasoningEffort: "high" };
    const bot = readModelSettings(create(ModelSettingsSchema, { temperature: 0, topP: 0.5 }));
    expect(resolveSampling(provider, bot)).toEqual({ temperature: 0, topP: 0.5, reasoningEffort: "high" });
  });

  test("lower the provider's limit of tokens, and never raise it", () => {
    const limitOf = (provider: Sampling, maxOutputTokens: number) =>
      resolveSampling(provider, readModelSettings(create(ModelSettingsSchema, { maxOutputTokens })));
    expect(limitOf({ maxOutputTokens: 500 }, 300)).toEqual({ maxOutputTokens: 300 });
    expect(limitOf({ maxOutputTokens: 500 }, 700)).toEqual({ maxOutputTokens: 500 });
    expect(limitOf({}, 700)).toEqual({ maxOutputTokens: 700 });
    expect(limitOf({ maxOutputTokens: 500 }, 0)).toEqual({ maxOutputTokens: 500 });
  });

  test("change nothing if there are none", () => {
    expect(readModelSettings(undefined)).toEqual({});
    const provider: Sampling = { temperature: 0.2 };
    expect(resolveSampling(provider, {})).toEqual(provider);
    expect(resolveSampling({}, {})).toEqual({});
  });
});

const settingsOf = (kind: "openai" | NativeKind, baseUrl: string) =>
  ({
    kind,
    name: "p",
    baseUrl,
    apiKey: "k",
    headers: {},
    sampling: {},
    ...PROVIDER_DEFAULTS,
  }) as unknown as RemoteSettings & {
    kind: OpenAiSettings["kind"];
  };
const OPENAI = settingsOf("openai", "https://api.openai.com/v1");

test.each<[string, Sampling]>([
  ["o4-mini", { temperature: 0.2 }],
  ["o3", { topP: 0.5 }],
  ["gpt-5-mini", { temperature: 1.5 }],
  ["gpt-5.1", { temperature: 0.2, reasoningEffort: "low" }],
  ["gpt-4o-mini", { reasoningEffort: "low" }],
  ["chatgpt-4o-latest", { reasoningEffort: "none" }],
])("OpenAI's %s refuses %o", (model, sampling) => {
  expect(findKnownProblem(OPENAI, model, sampling)?.sentence).toContain(model);
});

test.each<[string, Sampling]>([
  ["o4-mini", { reasoningEffort: "high", maxOutputTokens: 9 }],
  ["gpt-5-chat-latest", { temperature: 0.2 }],
  ["gpt-5.1", { temperature: 0.2 }],
  ["gpt-5.1", { temperature: 0.2, reasoningEffort: "none" }],
  ["gpt-4o-mini", { temperature: 2, topP: 0.5 }],
  ["o4-mini", {}],
])("OpenAI's %s accepts %o", (model, sampling) => {
  expect(findKnownProblem(OPENAI, model, sampling)).toBeUndefined();
});

test("the models of another server are not known, and the limits of an API hold for all its models", () => {
  const house = settingsOf("openai", "https://models.example.com/v1");
  expect(findKnownProblem(house, "o4-mini", { temperature: 0.2 })).toBeUndefined();
  const mistral = settingsOf("mistral", "https://api.mistral.ai/v1");
  expect(findKnownProblem(mistral, "m", { temperature: 1.6 })).toMatchObject({ setting: "temperature" });
  expect(findKnownProblem(mistral, "m", { temperature: 1.5, topP: 0.5 })).toBeUndefined();
});
