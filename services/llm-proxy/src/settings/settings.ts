import type { Price } from "./cost.ts";

export type Timeouts = {
  connectMs: number;
  /** From the request to the first text. */
  firstTokenMs: number;
  /** Between two pieces of text. */
  silenceMs: number;
  totalMs: number;
};

export type RetryPolicy = {
  /** Calls to one model, the first included. */
  maxAttempts: number;
  /** The wait before the second call; doubled before each further one. */
  baseDelayMs: number;
  maxDelayMs: number;
  /** A provider that asks for a longer wait than this is not asked again. */
  maxRetryAfterMs: number;
};

export type ConcurrencyPolicy = {
  maxActive: number;
  /** Calls that may wait for a place. */
  maxQueued: number;
  maxWaitMs: number;
};

export type BreakerPolicy = {
  /** Faults in a row that open it. */
  failures: number;
  /** How long it stays open before one call may try again. */
  cooldownMs: number;
};

/** What bounds the tools of one reply. */
export type ToolLimits = {
  /** Calls in one reply. */
  maxCalls: number;
  /** Times that a model may call tools before it has to answer. */
  maxRounds: number;
  timeoutMs: number;
  maxResultBytes: number;
};

/** What every provider has, whatever it speaks. */
export type CommonSettings = {
  name: string;
  timeouts: Timeouts;
  retries: RetryPolicy;
  concurrency: ConcurrencyPolicy;
  breaker: BreakerPolicy;
  /** By model name without the provider; `*` for every other one. */
  prices: Readonly<Record<string, Price>>;
  /** The model an operator's check asks, with its provider; empty when none is known. */
  checkModel: string;
};

export type OpenAiSettings = CommonSettings & {
  kind: "openai";
  baseUrl: string;
  /** Never printed, never sent to any host but that of `baseUrl`. */
  apiKey: string | undefined;
  headers: Readonly<Record<string, string>>;
  /** Whether to ask for a count of tokens; some servers refuse to be asked. */
  includeUsage: boolean;
};

export type BuiltinSettings = CommonSettings & { kind: "builtin" };

export type ProviderSettings = OpenAiSettings | BuiltinSettings;

/** A secret for tools, and where it may be shown. */
export type ToolSecret = {
  /** Never printed, never sent to another origin. */
  value: string;
  header: string;
  /** What stands before the value, as in `Bearer`; empty for nothing. */
  scheme: string;
  /** `https://api.example.com`, as URL.origin has it. */
  origins: readonly string[];
  /** Ids; `*` for every one. */
  workspaces: readonly string[];
};

/** The model that makes embeddings. */
export type EmbeddingSettings = {
  /** `<provider>:<model_name>` */
  model: string;
  /** The length to ask for; the model's own when undefined. */
  dimensions: number | undefined;
};

export type Settings = {
  providers: readonly ProviderSettings[];
  /** Models in the order in which they are tried, by the route's name. */
  routes: Readonly<Record<string, readonly string[]>>;
  /** A model, or `route:<name>`. */
  defaultModel: string;
  /** Undefined where none is configured. */
  embeddings: EmbeddingSettings | undefined;
  tools: ToolLimits;
  toolSecrets: Readonly<Record<string, ToolSecret>>;
};

export const BUILTIN_PROVIDER = "builtin";
export const BUILTIN_MODEL = "builtin:extractive";

/** What holds for a provider that says nothing else. */
export const DEFAULTS = {
  timeouts: { connectMs: 5_000, firstTokenMs: 30_000, silenceMs: 20_000, totalMs: 300_000 },
  retries: { maxAttempts: 3, baseDelayMs: 250, maxDelayMs: 4_000, maxRetryAfterMs: 10_000 },
  concurrency: { maxActive: 256, maxQueued: 256, maxWaitMs: 5_000 },
  breaker: { failures: 10, cooldownMs: 5_000 },
} as const;

/** What holds for tools unless the file says otherwise. */
export const TOOL_LIMITS: ToolLimits = { timeoutMs: 10_000, maxRounds: 5, maxCalls: 10, maxResultBytes: 32 * 1024 };

/** The provider that is always there. */
export function builtinSettings(): BuiltinSettings {
  return { kind: "builtin", name: BUILTIN_PROVIDER, ...DEFAULTS, prices: {}, checkModel: BUILTIN_MODEL };
}
