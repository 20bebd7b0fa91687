import type { Price } from "./cost.ts";

export type Timeouts = {
  connectMs: number;
  /** From the request to the first text. */
  firstTokenMs: number;
  /** Between two texts. */
  silenceMs: number;
  totalMs: number;
};

export type RetryPolicy = {
  /** Attempts with one model, including the first. */
  maxAttempts: number;
  /** The backoff before the second attempt; doubled before each further one. The wait is a random 50 to 100 % of the backoff. */
  baseDelayMs: number;
  /** The longest backoff. */
  maxDelayMs: number;
  /**
   * If a provider's Retry-After is longer, the request is not retried. Otherwise the wait is the Retry-After plus a random time of up to one
   * backoff.
   */
  maxRetryAfterMs: number;
};

export type ConcurrencyPolicy = {
  maxActive: number;
  /** Requests that may wait for a slot. */
  maxQueued: number;
  maxWaitMs: number;
};

export type BreakerPolicy = {
  /** How many consecutive faults of the provider open the breaker. */
  failures: number;
  /** How long the breaker stays open before it admits one request. */
  cooldownMs: number;
};

/** Bounds the tool calls of one generation. */
export type ToolLimits = {
  maxCalls: number;
  /** Rounds of tool calls before the model must answer. */
  maxRounds: number;
  /** For one call, and for listing the tools of an MCP server. */
  timeoutMs: number;
  /** For one call. */
  maxResultBytes: number;
};

export type CommonSettings = {
  name: string;
  timeouts: Timeouts;
  retries: RetryPolicy;
  concurrency: ConcurrencyPolicy;
  breaker: BreakerPolicy;
  /** By model name without the provider; `*` for every other model. */
  prices: Readonly<Record<string, Price>>;
  /**
   * The tokens of a model's context window, by model name without the provider. `*` in a name matches any text. The first name that matches applies.
   * Empty without limits.
   */
  contextWindows: Readonly<Record<string, number>>;
  /** The model of `parley provider check`, as `<provider>:<model_name>`; empty when none is known. */
  checkModel: string;
};

/** The settings of a provider that is reached over HTTP. */
export type RemoteSettings = CommonSettings & {
  baseUrl: string;
  /** Never logged, and sent only to the host of `baseUrl`. */
  apiKey: string | undefined;
  headers: Readonly<Record<string, string>>;
  sampling: Sampling;
};

/** How a model generates a completion. A missing setting is the provider's own. */
export type Sampling = {
  temperature?: number;
  topP?: number;
  reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
  maxOutputTokens?: number;
};

export type OpenAiSettings = RemoteSettings & {
  /** Azure's API is OpenAI's. Its models have the names of deployments. */
  kind: "openai" | "azure";
  /** Whether to request token counts. Some servers refuse such requests. */
  includeUsage: boolean;
  /** The request's parameter for the maximum number of tokens of a completion. */
  maxTokensParameter: MaxTokensParameter;
  /** The scope of the access tokens of the kind azure, if requests have no key. */
  tokenScope?: string;
};

/** An API other than OpenAI's. */
export type NativeKind = "anthropic" | "bedrock" | "google" | "mistral" | "vertex";

/** The API of a provider that is reached over HTTP. */
export type Kind = OpenAiSettings["kind"] | NativeKind;

export type NativeSettings = RemoteSettings & {
  kind: NativeKind;
  /** The AWS region of the kind bedrock; empty for the other kinds. It may be empty with a key. */
  region: string;
};

/** OpenAI refuses max_tokens, the older parameter, for its reasoning models. Some other servers know only max_tokens. */
export type MaxTokensParameter = "max_tokens" | "max_completion_tokens";

export type BuiltinSettings = CommonSettings & { kind: "builtin" };

export type ProviderSettings = OpenAiSettings | NativeSettings | BuiltinSettings;

/** A secret that tools may authenticate with, and where it may be sent. */
export type ToolSecret = {
  /** Never logged, and sent only to `origins`. */
  value: string;
  header: string;
  /** The word before the value in the header, such as `Bearer`; empty for none. */
  scheme: string;
  /** As URL.origin formats them: `https://api.example.com`. */
  origins: readonly string[];
  /** Workspace ids; `*` for every workspace. */
  workspaces: readonly string[];
};

export type EmbeddingSettings = {
  /** `<provider>:<model_name>` */
  model: string;
  /** The length of the vectors; undefined for the model's default. */
  dimensions: number | undefined;
};

export type Settings = {
  providers: readonly ProviderSettings[];
  /** Maps a route's name to the models to try, in order. */
  routes: Readonly<Record<string, readonly string[]>>;
  /** A model, or `route:<name>`. */
  defaultModel: string;
  /** Undefined when no embeddings model is configured. */
  embeddings: EmbeddingSettings | undefined;
  toolLimits: ToolLimits;
  toolSecrets: Readonly<Record<string, ToolSecret>>;
};

export const BUILTIN_PROVIDER = "builtin";
const BUILTIN_MODEL_NAME = "extractive";
export const BUILTIN_MODEL = `${BUILTIN_PROVIDER}:${BUILTIN_MODEL_NAME}`;

/** The context window of a model, if neither LLM_CONFIG nor a preset sets it: what most current models have at least. */
export const DEFAULT_CONTEXT_WINDOW = 32_768;

export const PROVIDER_DEFAULTS = {
  timeouts: { connectMs: 5_000, firstTokenMs: 30_000, silenceMs: 20_000, totalMs: 300_000 },
  retries: { maxAttempts: 3, baseDelayMs: 250, maxDelayMs: 4_000, maxRetryAfterMs: 10_000 },
  concurrency: { maxActive: 256, maxQueued: 256, maxWaitMs: 5_000 },
  breaker: { failures: 10, cooldownMs: 5_000 },
  contextWindows: { "*": DEFAULT_CONTEXT_WINDOW },
} as const;

export const DEFAULT_TOOL_LIMITS: ToolLimits = {
  timeoutMs: 10_000,
  maxRounds: 5,
  maxCalls: 10,
  maxResultBytes: 32 * 1024,
};

/** Returns the settings of the built-in provider, which is always configured. */
export function createBuiltinSettings(): BuiltinSettings {
  return {
    kind: "builtin",
    name: BUILTIN_PROVIDER,
    ...PROVIDER_DEFAULTS,
    // It runs in the llm-proxy, so its cost is known: 0.
    prices: { [BUILTIN_MODEL_NAME]: { input: 0, output: 0 } },
    contextWindows: {},
    checkModel: BUILTIN_MODEL,
  };
}

/** Returns the tokens of a model's context window; undefined without a limit. */
export function findContextWindow(
  { contextWindows }: Pick<CommonSettings, "contextWindows">,
  model: string,
): number | undefined {
  return Object.entries(contextWindows).find(([pattern]) => matches(pattern, model))?.[1];
}

function matches(pattern: string, model: string): boolean {
  const parts = pattern.split("*").map((part) => part.replaceAll(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(model);
}

/** Returns the models that the settings name, as `<provider>:<model_name>`. The set may also contain an empty text, a route or `<provider>:*`. */
export function listConfiguredModels({ providers, routes, defaultModel, embeddings }: Settings): ReadonlySet<string> {
  const named = providers.flatMap(({ name, prices, checkModel }) => [
    ...Object.keys(prices).map((model) => `${name}:${model}`),
    checkModel,
  ]);
  return new Set([...named, ...Object.values(routes).flat(), defaultModel, embeddings?.model ?? "", BUILTIN_MODEL]);
}
