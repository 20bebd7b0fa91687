import type { PresetName } from "./presets.ts";
import type { CommonSettings, Kind, MaxTokensParameter, Sampling } from "./settings.ts";

export type AzureCloud = "public" | "us-government" | "china";

/** A provider in LLM_CONFIG. */
export type ProviderEntry = {
  preset?: PresetName;
  kind?: Kind;
  base_url?: string;
  project?: string;
  region?: string;
  location?: string;
  resource?: string;
  cloud?: AzureCloud;
  api_key_env?: string;
  headers?: Record<string, string>;
  include_usage?: boolean;
  max_output_tokens?: number;
  max_tokens_parameter?: MaxTokensParameter;
  temperature?: number;
  top_p?: number;
  reasoning_effort?: NonNullable<Sampling["reasoningEffort"]>;
  check_model?: string;
  prices?: CommonSettings["prices"];
  context_windows?: CommonSettings["contextWindows"];
} & Partial<Record<"timeouts" | "retries" | "concurrency" | "breaker", Record<string, number>>>;
