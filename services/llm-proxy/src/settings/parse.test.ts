import { describe, expect, test, vi } from "vitest";
import schema from "../../llm-config.schema.json" with { type: "json" };
import { SettingsError } from "./error.ts";
import { parseSettings } from "./parse.ts";
import { PRESETS } from "./presets.ts";
import { type OpenAiSettings, PROVIDER_DEFAULTS } from "./settings.ts";

const keys: Record<string, string> = {
  OPENAI_API_KEY: "sk-1",
  GROQ_API_KEY: "gsk-2",
  MY_KEY: "k-3",
  ANTHROPIC_API_KEY: "sk-ant-5",
  GEMINI_API_KEY: "g-6",
  MISTRAL_API_KEY: "m-7",
  UNSENDABLE_KEY: "k-4\n",
};
const options = { defaultModel: undefined, readSecret: (name: string) => keys[name] };
const parse = (text: string) => parseSettings(text, options);

function problemsOf(text: string): readonly string[] {
  try {
    parse(text);
    return [];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems;
  }
}

describe("parseSettings", () => {
  test("an empty file configures only the built-in provider", () => {
    expect(parse("")).toMatchObject({
      providers: [{ kind: "builtin", name: "builtin", checkModel: "builtin:extractive" }],
      routes: {},
      defaultModel: "builtin:extractive",
    });
  });

  test("the embeddings model must be a model of a provider in the file", () => {
    expect(parse("").embeddings).toBeUndefined();
    const fileWith = (embeddings: string) => `{ providers: { openai: { preset: openai } }, embeddings: ${embeddings} }`;
    expect(parse(fileWith("{ model: openai:text-embedding-3-small }")).embeddings).toEqual({
      model: "openai:text-embedding-3-small",
      dimensions: undefined,
    });
    expect(parse(fileWith("{ model: openai:text-embedding-3-large, dimensions: 256 }")).embeddings?.dimensions).toBe(
      256,
    );
    for (const model of ["groq:m", "builtin:extractive", "route:main"])
      expect(problemsOf(fileWith(`{ model: "${model}" }`))).toEqual([
        `embeddings.model ${model} is not a model of a configured provider other than builtin`,
      ]);
    expect(problemsOf(fileWith("{ dimensions: 256 }"))).toEqual(["embeddings must have required property 'model'"]);
  });

  test("a preset sets the base URL and the environment variable of the API key", () => {
    const [openai, groq, local] = parse(`
      providers:
        openai: { preset: openai }
        fast: { preset: groq, check_model: llama-3.3-70b-versatile }
        local: { preset: ollama, base_url: "http://10.0.0.7:11434/v1" }
    `).providers;
    expect(openai).toMatchObject({
      name: "openai",
      baseUrl: "https://api.openai.com/v1",
      apiKey: "sk-1",
      ...PROVIDER_DEFAULTS,
      contextWindows: PRESETS.openai.contextWindows,
    });
    expect(groq).toMatchObject({
      kind: "openai",
      baseUrl: "https://api.groq.com/openai/v1",
      apiKey: "gsk-2",
      checkModel: "fast:llama-3.3-70b-versatile",
    });
    expect(local).toMatchObject({ baseUrl: "http://10.0.0.7:11434/v1", apiKey: undefined });
  });

  test("the file overrides single defaults of a provider", () => {
    const [provider] = parse(`
      providers:
        mine:
          base_url: https://llm.internal/v1
          api_key_env: MY_KEY
          headers: { X-Team: support }
          include_usage: false
          timeouts: { first_token_ms: 1000 }
          retries: { max_attempts: 1 }
          concurrency: { max_active: 2, max_queued: 0 }
          breaker: { cooldown_ms: 50 }
          prices: { small: { input: 0.1, output: 0.4 } }
    `).providers;
    expect(provider).toMatchObject({
      kind: "openai",
      baseUrl: "https://llm.internal/v1",
      apiKey: "k-3",
      headers: { "X-Team": "support" },
      includeUsage: false,
      timeouts: { ...PROVIDER_DEFAULTS.timeouts, firstTokenMs: 1_000 },
      retries: { ...PROVIDER_DEFAULTS.retries, maxAttempts: 1 },
      concurrency: { ...PROVIDER_DEFAULTS.concurrency, maxActive: 2, maxQueued: 0 },
      breaker: { ...PROVIDER_DEFAULTS.breaker, cooldownMs: 50 },
      prices: { small: { input: 0.1, output: 0.4 } },
    });
  });

  test("the parameter for max_output_tokens comes from the preset, or from max_tokens_parameter if the file sets it", () => {
    const limitsOf = (provider: string) => {
      const [parsed] = parse(`providers: { mine: { ${provider} } }`).providers;
      const { sampling, maxTokensParameter } = parsed as OpenAiSettings;
      return { tokens: sampling.maxOutputTokens, parameter: maxTokensParameter };
    };
    expect(limitsOf("preset: openai").tokens).toBeUndefined();
    for (const preset of ["openai", "groq"])
      expect(limitsOf(`preset: ${preset}, max_output_tokens: 500`)).toEqual({
        tokens: 500,
        parameter: "max_completion_tokens",
      });
    for (const provider of ["preset: ollama", "preset: vllm", "base_url: https://llm.internal/v1"])
      expect(limitsOf(`${provider}, max_output_tokens: 1`)).toEqual({ tokens: 1, parameter: "max_tokens" });
    expect(limitsOf("preset: openai, max_output_tokens: 9, max_tokens_parameter: max_tokens")).toEqual({
      tokens: 9,
      parameter: "max_tokens",
    });
    for (const tokens of ["0", "-1", "1.5", "x"])
      expect(() => limitsOf(`preset: openai, max_output_tokens: ${tokens}`)).toThrow(/max_output_tokens/);
  });

  test("the presets of Anthropic and Google use their own APIs, and their compatible endpoints have presets of their own", () => {
    const { providers } = parse(`
      providers:
        a: { preset: anthropic, max_output_tokens: 9 }
        b: { preset: anthropic-compatible }
        c: { preset: google }
        d: { preset: google-compatible }
        e: { kind: anthropic, base_url: "https://gateway/v1", api_key_env: MY_KEY }
        f: { preset: mistral }
    `);
    expect(providers.at(5)?.kind).toBe("mistral");
    expect(providers.slice(0, 5).map((each) => [each.kind, each.kind === "builtin" ? "" : each.apiKey])).toEqual([
      ["anthropic", "sk-ant-5"],
      ["openai", "sk-ant-5"],
      ["google", "g-6"],
      ["openai", "g-6"],
      ["anthropic", "k-3"],
    ]);
    expect(providers[0]).toMatchObject({ sampling: { maxOutputTokens: 9 }, contextWindows: { "*": 200_000 } });
  });

  test.each([
    [
      "europe-west1",
      "https://europe-west1-aiplatform.googleapis.com/v1beta1/projects/p/locations/europe-west1/publishers/google",
    ],
    ["eu", "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google"],
    ["global", "https://aiplatform.googleapis.com/v1beta1/projects/p/locations/global/publishers/google"],
  ])("Vertex has the URL of its project in %s, and no key", (location, baseUrl) => {
    const [provider] = parse(`providers: { v: { preset: vertex, project: p, location: ${location} } }`).providers;
    expect(provider).toMatchObject({ kind: "vertex", baseUrl, apiKey: undefined });
  });

  test.each([
    ["eu-central-1", "https://bedrock-runtime.eu-central-1.amazonaws.com"],
    ["cn-north-1", "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"],
    ["us-gov-west-1", "https://bedrock-runtime.us-gov-west-1.amazonaws.com"],
    ["eusc-de-east-1", "https://bedrock-runtime.eusc-de-east-1.amazonaws.eu"],
    ["us-isob-east-1", "https://bedrock-runtime.us-isob-east-1.sc2s.sgov.gov"],
  ])("Bedrock has the URL of the region %s, and needs no key", (region, baseUrl) => {
    const [provider] = parse(`providers: { b: { preset: bedrock, region: ${region} } }`).providers;
    expect(provider).toMatchObject({ kind: "bedrock", baseUrl, region, apiKey: undefined });
  });

  test.each([
    ["resource: ai", "https://ai.openai.azure.com/openai/v1", "https://cognitiveservices.azure.com/.default"],
    [
      "resource: ai, cloud: us-government",
      "https://ai.openai.azure.us/openai/v1",
      "https://cognitiveservices.azure.us/.default",
    ],
    [
      "resource: ai, cloud: china",
      "https://ai.openai.azure.cn/openai/v1",
      "https://cognitiveservices.azure.cn/.default",
    ],
    [
      "base_url: https://gateway.example/v1",
      "https://gateway.example/v1",
      "https://cognitiveservices.azure.com/.default",
    ],
    ["resource: ai, api_key_env: MY_KEY", "https://ai.openai.azure.com/openai/v1", undefined],
  ])(
    "Azure with %s has the URL of its cloud, and the scope of its tokens unless it has a key",
    (entry, baseUrl, tokenScope) => {
      const [provider] = parse(`providers: { a: { preset: azure, ${entry} } }`).providers;
      expect(provider).toMatchObject({ kind: "azure", baseUrl, maxTokensParameter: "max_completion_tokens" });
      expect((provider as OpenAiSettings).tokenScope).toBe(tokenScope);
    },
  );

  test("without check_model, `parley provider check` uses the provider's first model that is the default or in a route", () => {
    const { providers } = parse(`
      default_model: route:main
      providers: { openai: { preset: openai }, fast: { preset: groq } }
      routes: { main: ["fast:llama", "openai:gpt-4o"] }
    `);
    expect(providers.map((each) => each.checkModel)).toEqual(["openai:gpt-4o", "fast:llama", "builtin:extractive"]);
  });

  test("default_model of the file overrides DEFAULT_MODEL", () => {
    const withDefault = { ...options, defaultModel: "openai:gpt-4o" };
    const providers = "providers: { openai: { preset: openai } }";
    expect(parseSettings(providers, withDefault).defaultModel).toBe("openai:gpt-4o");
    expect(parseSettings(`${providers}\ndefault_model: builtin:extractive`, withDefault).defaultModel).toBe(
      "builtin:extractive",
    );
  });

  test.each([
    ["providers: [", /^the file is not YAML: BAD_INDENT at line 1, column 13$/],
    ["provider: {}", /must NOT have additional properties: provider/],
    ["providers: { openai: { preset: unknown } }", /providers\.openai\.preset must be equal to one of/],
    ["providers: { mine: { preset: azure } }", /providers\.mine: resource or base_url is missing/],
    ["providers: { mine: { preset: azure, resource: ai, cloud: mars } }", /cloud must be equal to one of/],
    ["providers: { mine: { preset: azure, resource: r.example } }", /resource must match pattern/],
    ["providers: { mine: { preset: ollama, kind: azure, resource: ai } }", /preset ollama is not of the kind azure/],
    ["providers: { mine: { base_url: 'ftp://x' } }", /providers\.mine\.base_url/],
    ["providers: { mine: { base_url: 'https://user:pass@x/v1' } }", /providers\.mine\.base_url/],
    ["providers: { mine: { base_url: 'https://x:99999/v1' } }", /providers\.mine: base_url is not a URL/],
    ["providers: { mine: { base_url: https://x/v1, api_key: sk-1 } }", /additional properties: api_key$/],
    ["providers: { mine: { base_url: https://x/v1, api_key_env: NOT_SET } }", /variable NOT_SET is not set/],
    ["providers: { mine: { base_url: https://x/v1, headers: { Authorization: b } } }", /headers/],
    ["providers: { mine: { base_url: https://x/v1, timeouts: { connect_ms: 0 } } }", /connect_ms must be >= 1/],
    ["providers: { builtin: { base_url: https://x/v1 } }", /providers/],
    ["providers: { mine: { preset: openai, temperature: 2.1 } }", /providers\.mine\.temperature must be <= 2/],
    [
      "providers: { mine: { preset: mistral, temperature: 1.6 } }",
      /temperature must be at most 1\.5 for the kind mistral/,
    ],
    [
      "providers: { mine: { preset: anthropic, temperature: 1.1 } }",
      /temperature must be at most 1 for the kind anthropic/,
    ],
    ["providers: { mine: { preset: anthropic, temperature: 1, reasoning_effort: low } }", /accepts only one of/],
    ["providers: { mine: { preset: openai, reasoning_effort: huge } }", /reasoning_effort must be equal to one of/],
    ["providers: { mine: { preset: vertex, project: p } }", /providers\.mine: project or location is missing/],
    [
      "providers: { mine: { preset: vertex, project: p, location: eu, api_key_env: MY_KEY } }",
      /api_key_env is not for the kind vertex/,
    ],
    ["providers: { mine: { preset: bedrock } }", /providers\.mine: region is missing/],
    ["providers: { mine: { kind: bedrock, base_url: https://x } }", /providers\.mine: region is missing/],
    ["providers: { mine: { preset: bedrock, region: Frankfurt } }", /region must match pattern/],
    ["providers: { mine: { kind: other, base_url: https://x/v1 } }", /providers\.mine\.kind must be equal to one of/],
    ["providers: { mine: { kind: anthropic, base_url: https://x/v1 } }", /providers\.mine: api_key_env is missing/],
    [
      "providers: { mine: { preset: google, include_usage: true } }",
      /include_usage is only for the kinds openai and azure/,
    ],
    ["{ providers: { mine: { preset: google } }, embeddings: { model: mine:m } }", /a provider without embeddings/],
    ["providers: { route: { base_url: https://x/v1 } }", /providers/],
    ["default_model: openai:gpt-4o", /default model openai:gpt-4o is not a model of/],
    ["default_model: route:main", /default model route:main is not a model of/],
    ["default_model: builtin:other", /default model builtin:other is not a model of/],
    ["routes: { main: ['openai:gpt-4o'] }", /routes\.main names openai:gpt-4o/],
    ["routes: { main: ['builtin:extractive'], again: ['route:main'] }", /routes\.again names route:main/],
    ["routes: { main: [] }", /routes\.main must NOT have fewer than 1 items/],
    ["- a list", /must be object/],
  ])("refuses %s", (text, problem) => {
    expect(problemsOf(text).join("\n")).toMatch(problem);
  });

  test("reports all problems together, and quotes no secret", () => {
    const problems = problemsOf(`
      default_model: unknown:x
      providers:
        one: { base_url: https://x/v1, api_key_env: NOT_SET }
        two: { preset: azure, api_key_env: NOT_SET }
        three: { base_url: "https://x:99999/v1", api_key_env: OPENAI_API_KEY }
      tool_secrets:
        orders: { env: UNSENDABLE_KEY, hosts: [shop.example], workspaces: ["*"] }
    `);
    expect(problems).toHaveLength(6);
    expect(problems.join()).not.toMatch(/sk-1|k-4/);
  });

  test.each([
    ["an unclosed quote", 'providers:\n  mine: { headers: { X-Key: "sk-1 } }\n'],
    ["a wrong indent", "providers:\n  mine:\n    headers: { X-Key: sk-1 }\n   base_url: sk-1\n"],
    ["a duplicate key", "sk-1: 1\nsk-1: 2\n"],
    ["an alias without an anchor", "providers: *sk-1\n"],
    ["an unknown tag", "providers: !sk-1 x\n"],
    ["a block scalar with text in its header", "providers: |sk-1\n"],
  ])("does not quote the file, which may contain a secret: %s", (_, text) => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const problems = problemsOf(text);
    expect(problems).toHaveLength(1);
    expect([problems, emitWarning.mock.calls].join()).not.toContain("sk-1");
    emitWarning.mockRestore();
  });

  test("reports an API key whose file cannot be used", () => {
    const readSecret = () => {
      throw new Error("/keys/MY_KEY is empty");
    };
    const text = "providers: { mine: { base_url: https://x/v1, api_key_env: MY_KEY } }";
    expect(() => parseSettings(text, { ...options, readSecret })).toThrow("providers.mine: /keys/MY_KEY is empty");
  });

  test("nested aliases that expand exponentially are refused", () => {
    const bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 9; level++)
      bomb.push(`${"abcdefghi"[level]}: &${"abcdefghi"[level]} [${Array(9).fill(`*${"abcdefghi"[level - 1]}`)}]`);
    expect(problemsOf(bomb.join("\n")).join()).toMatch(/alias/i);
  });
});

describe("the schema", () => {
  test("documents the defaults of a provider", () => {
    const { timeouts, retries, concurrency, breaker } = schema.$defs.provider.properties;
    const defaultsOf = (part: { properties: Record<string, { default?: number }> }) =>
      Object.values(part.properties).map((property) => property.default);
    expect(defaultsOf(timeouts)).toEqual(Object.values(PROVIDER_DEFAULTS.timeouts));
    expect(defaultsOf(retries)).toEqual(Object.values(PROVIDER_DEFAULTS.retries));
    expect(defaultsOf(concurrency)).toEqual(Object.values(PROVIDER_DEFAULTS.concurrency));
    expect(defaultsOf(breaker)).toEqual(Object.values(PROVIDER_DEFAULTS.breaker));
  });

  test("lists the presets", () => {
    expect(schema.$defs.provider.properties.preset.enum).toEqual(Object.keys(PRESETS));
  });
});
