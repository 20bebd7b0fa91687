import { DEFAULT_CONTEXT_WINDOW, type Kind, type MaxTokensParameter } from "./settings.ts";

/** The settings of a known provider. */
export type Preset = {
  /** The API; default: OpenAI's. */
  kind?: Kind;
  /** Missing if each customer of the provider has their own base URL. */
  baseUrl?: string;
  /** The environment variable with the API key, unless `api_key_env` names another one; missing if the provider usually needs no key. */
  apiKeyEnv?: string;
  /** Whether requests ask for token counts. */
  includeUsage: boolean;
  /** The tokens of a model's context window, as in the settings; `*`: the smallest of the provider's current models. */
  contextWindows: Readonly<Record<string, number>>;
  /** Default: max_tokens. */
  maxTokensParameter?: MaxTokensParameter;
};

/** A name can begin with the region of an inference profile, and end with a version. */
const BEDROCK_WINDOWS = {
  "*ai21.jamba-*": 256_000,
  "*amazon.nova-lite-*": 300_000,
  "*amazon.nova-pro-*": 300_000,
  "*amazon.nova-premier-*": 1_000_000,
  "*amazon.titan-text-lite-*": 4_096,
  "*amazon.titan-text-express-*": 8_192,
  "*amazon.titan-text-premier-*": 32_000,
  "*anthropic.claude-instant-*": 100_000,
  "*anthropic.claude-v2": 100_000,
  "*anthropic.claude-*": 200_000,
  "*cohere.command-text-*": 4_096,
  "*cohere.command-light-*": 4_096,
  "*meta.llama3-8b-*": 8_192,
  "*meta.llama3-70b-*": 8_192,
  "*mistral.mistral-7b-*": 32_000,
  "*mistral.mistral-large-2402-*": 32_000,
  "*mistral.mistral-small-2402-*": 32_000,
  "*mistral.mixtral-*": 32_000,
  "*": 128_000,
};

/** By the value of `preset` in LLM_CONFIG. */
export const PRESETS = {
  openai: {
    baseUrl: "https://api.openai.com/v1",
    apiKeyEnv: "OPENAI_API_KEY",
    includeUsage: true,
    contextWindows: { "gpt-4": 8_192, "gpt-4-0*": 8_192, "gpt-3.5-*": 16_385, "*": 128_000 },
    maxTokensParameter: "max_completion_tokens",
  },
  // Without a key: the credentials of Azure, such as the workload identity of a cluster. A model's name is that of its deployment.
  azure: {
    kind: "azure",
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
  bedrock: { kind: "bedrock", includeUsage: true, contextWindows: BEDROCK_WINDOWS },
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
