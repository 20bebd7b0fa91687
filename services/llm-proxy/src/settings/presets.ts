/** What is known of a provider's OpenAI-compatible endpoint. */
export type Preset = {
  /** Missing where it differs for everybody. */
  baseUrl?: string;
  /** The variable its key is read from unless the file names another; missing where a key is not usual. */
  apiKeyEnv?: string;
  includeUsage: boolean;
};

/** The providers that a file may name with `preset:`. */
export const PRESETS = {
  openai: { baseUrl: "https://api.openai.com/v1", apiKeyEnv: "OPENAI_API_KEY", includeUsage: true },
  // base_url is https://RESOURCE.openai.azure.com/openai/v1; models are the names of deployments.
  azure: { apiKeyEnv: "AZURE_OPENAI_API_KEY", includeUsage: true },
  anthropic: { baseUrl: "https://api.anthropic.com/v1", apiKeyEnv: "ANTHROPIC_API_KEY", includeUsage: true },
  google: {
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    apiKeyEnv: "GEMINI_API_KEY",
    includeUsage: true,
  },
  // Counts without being asked, and refuses a request that asks.
  mistral: { baseUrl: "https://api.mistral.ai/v1", apiKeyEnv: "MISTRAL_API_KEY", includeUsage: false },
  groq: { baseUrl: "https://api.groq.com/openai/v1", apiKeyEnv: "GROQ_API_KEY", includeUsage: true },
  together: { baseUrl: "https://api.together.xyz/v1", apiKeyEnv: "TOGETHER_API_KEY", includeUsage: true },
  openrouter: { baseUrl: "https://openrouter.ai/api/v1", apiKeyEnv: "OPENROUTER_API_KEY", includeUsage: true },
  ollama: { baseUrl: "http://127.0.0.1:11434/v1", includeUsage: true },
  vllm: { baseUrl: "http://127.0.0.1:8000/v1", includeUsage: true },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;
