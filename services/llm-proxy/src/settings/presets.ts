import { DEFAULT_CONTEXT_WINDOW, type MaxTokensParameter, type NativeKind } from "./settings.ts";

/** The settings of a known provider. */
export type Preset = {
  /** The API; default: OpenAI's. */
  kind?: NativeKind;
  /** Missing if each customer of the provider has their own base URL. */
  baseUrl?: string;
  /** The environment variable with the API key, unless `api_key_env` names another one; missing if the provider usually needs no key. */
  apiKeyEnv?: string;
  /** Whether requests ask for token counts. */
  includeUsage: boolean;
  /** The tokens of a model's context window, by model name; `*` for every other model: the smallest of the provider's current models. */
  contextWindows: Readonly<Record<string, number>>;
  /** Default: max_tokens. */
  maxTokensParameter?: MaxTokensParameter;
};

/** By the value of `preset` in LLM_CONFIG. */
export const PRESETS = {
  openai: {
    baseUrl: "https://api.openai.com/v1",
    apiKeyEnv: "OPENAI_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 128_000, "gpt-4": 8_192, "gpt-3.5-turbo": 16_385 },
    maxTokensParameter: "max_completion_tokens",
  },
  // base_url is https://RESOURCE.openai.azure.com/openai/v1. A model's name is that of its Azure deployment.
  azure: {
    apiKeyEnv: "AZURE_OPENAI_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 128_000 },
    maxTokensParameter: "max_completion_tokens",
  },
  anthropic: {
    kind: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    apiKeyEnv: "ANTHROPIC_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 200_000 },
  },
  "anthropic-compatible": {
    baseUrl: "https://api.anthropic.com/v1",
    apiKeyEnv: "ANTHROPIC_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 200_000 },
  },
  google: {
    kind: "google",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    apiKeyEnv: "GEMINI_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 1_000_000 },
  },
  // Without a key: Google's default credentials, such as the workload identity of a cluster.
  vertex: { kind: "vertex", includeUsage: true, contextWindows: { "*": 1_000_000 } },
  // Without a key: the credentials of AWS, such as the role of a cluster's service account.
  bedrock: { kind: "bedrock", includeUsage: true, contextWindows: { "*": 128_000 } },
  "google-compatible": {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    apiKeyEnv: "GEMINI_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 1_000_000 },
  },
  mistral: {
    kind: "mistral",
    baseUrl: "https://api.mistral.ai/v1",
    apiKeyEnv: "MISTRAL_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 32_000 },
  },
  // Mistral sends token counts in every stream, and refuses requests that ask for them.
  "mistral-compatible": {
    baseUrl: "https://api.mistral.ai/v1",
    apiKeyEnv: "MISTRAL_API_KEY",
    includeUsage: false,
    contextWindows: { "*": 32_000 },
  },
  groq: {
    baseUrl: "https://api.groq.com/openai/v1",
    apiKeyEnv: "GROQ_API_KEY",
    includeUsage: true,
    contextWindows: { "*": 131_072 },
    maxTokensParameter: "max_completion_tokens",
  },
  together: {
    baseUrl: "https://api.together.xyz/v1",
    apiKeyEnv: "TOGETHER_API_KEY",
    includeUsage: true,
    contextWindows: { "*": DEFAULT_CONTEXT_WINDOW },
  },
  openrouter: {
    baseUrl: "https://openrouter.ai/api/v1",
    apiKeyEnv: "OPENROUTER_API_KEY",
    includeUsage: true,
    contextWindows: { "*": DEFAULT_CONTEXT_WINDOW },
  },
  // Ollama cuts a longer prompt silently. Its window depends on the machine's memory and on OLLAMA_CONTEXT_LENGTH.
  ollama: { baseUrl: "http://127.0.0.1:11434/v1", includeUsage: true, contextWindows: { "*": 8_192 } },
  vllm: { baseUrl: "http://127.0.0.1:8000/v1", includeUsage: true, contextWindows: { "*": DEFAULT_CONTEXT_WINDOW } },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;
