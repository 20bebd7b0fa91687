import { readSecret } from "@parley/service-kit";
import { describe, expect, test } from "vitest";
import { readConfig } from "../config.ts";
import { loadSettings } from "./settings.worker.ts";

const required = { DATABASE_URL: "postgres://parley_llm@127.0.0.1/parley", INTERNAL_TOKEN: "i", ADMIN_TOKEN: "a" };

/** Returns the settings that the service loads: each provider as its base URL and its key, or "" for the built-in one. */
function settingsOf(environment: Record<string, string>) {
  const { findSecretSource, ...config } = readConfig({ ...required, ...environment });
  const readSecretByName = (name: string) => {
    const source = findSecretSource(name);
    return source && readSecret(source);
  };
  const { providers, defaultModel } = loadSettings({ ...config, readSecret: readSecretByName });
  return {
    defaultModel,
    providers: Object.fromEntries(
      providers.map((each) => [each.name, each.kind === "openai" ? `${each.baseUrl} ${each.apiKey ?? "no key"}` : ""]),
    ),
  };
}

describe("without LLM_CONFIG", () => {
  test("the built-in model is the default if the variables are missing or empty", () => {
    const builtinOnly = { defaultModel: "builtin:extractive", providers: { builtin: "" } };
    expect(settingsOf({})).toEqual(builtinOnly);
    expect(settingsOf({ OPENAI_API_KEY: "", OPENAI_BASE_URL: "", OLLAMA_HOST: "", DEFAULT_MODEL: "" })).toEqual(
      builtinOnly,
    );
  });

  test("a key or a base URL makes openai the default", () => {
    expect(settingsOf({ OPENAI_API_KEY: "sk-1" })).toEqual({
      defaultModel: "openai:gpt-4o-mini",
      providers: { openai: "https://api.openai.com/v1 sk-1", builtin: "" },
    });
    expect(settingsOf({ OPENAI_BASE_URL: "http://127.0.0.1:9/v1" })).toMatchObject({
      defaultModel: "openai:gpt-4o-mini",
      providers: { openai: "http://127.0.0.1:9/v1 no key" },
    });
  });

  test.each([
    ["127.0.0.1", "http://127.0.0.1:11434/v1"],
    ["0.0.0.0:11500", "http://127.0.0.1:11500/v1"],
    ["gpu.internal:8000", "http://gpu.internal:8000/v1"],
    ["https://ollama.example.com", "https://ollama.example.com/v1"],
    ["http://gpu:11434/", "http://gpu:11434/v1"],
    ["http://gpu:11434/v1/", "http://gpu:11434/v1"],
    ["https://models.example.com/ollama", "https://models.example.com/ollama/v1"],
    ["gpu:11434/ollama/", "http://gpu:11434/ollama/v1"],
    ["gpu:80", "http://gpu/v1"],
    ["[fd00::7]", "http://[fd00::7]:11434/v1"],
  ])("OLLAMA_HOST %s adds ollama at %s and does not change the default", (host, url) => {
    expect(settingsOf({ OLLAMA_HOST: host })).toEqual({
      defaultModel: "builtin:extractive",
      providers: { ollama: `${url} no key`, builtin: "" },
    });
  });

  test("DEFAULT_MODEL is the default, and must be a model of a configured provider", () => {
    expect(settingsOf({ OLLAMA_HOST: "gpu", DEFAULT_MODEL: "ollama:llama3.2:3b" }).defaultModel).toBe(
      "ollama:llama3.2:3b",
    );
    expect(() => settingsOf({ DEFAULT_MODEL: "openai:gpt-4o" })).toThrow(
      "openai:gpt-4o is not a model of a configured",
    );
    expect(() => settingsOf({ DEFAULT_MODEL: "gpt-4o" })).toThrow("gpt-4o is not a model of a configured");
  });

  test("if OLLAMA_HOST is invalid, the error names the variable", () => {
    expect(() => settingsOf({ OLLAMA_HOST: "http://" })).toThrow("OLLAMA_HOST");
  });
});

test("if the file of LLM_CONFIG cannot be read, the error names the variable and the error code", () => {
  expect(() => settingsOf({ LLM_CONFIG: "/nowhere/llm.yaml" })).toThrow("LLM_CONFIG cannot be read (ENOENT)");
});
