import { SettingsError } from "./error.ts";
import { PRESETS } from "./presets.ts";
import {
  BUILTIN_MODEL,
  builtinSettings,
  DEFAULTS,
  type OpenAiSettings,
  type Settings,
  TOOL_LIMITS,
} from "./settings.ts";

/** The part of the environment that configures providers when there is no file. */
export type ModelEnvironment = {
  openaiConfigured: boolean;
  openaiBaseUrl: string | undefined;
  ollamaHost: string | undefined;
  defaultModel: string | undefined;
  readKey: (name: string) => string | undefined;
};

const OPENAI_MODEL = "openai:gpt-4o-mini";

/**
 * Returns the settings without a file: `openai` with OPENAI_API_KEY or OPENAI_BASE_URL, `ollama` with OLLAMA_HOST, and always `builtin`.
 * The default model is DEFAULT_MODEL; without it, a model of `openai` if that is configured, else the built-in model.
 */
export function settingsFromEnvironment(environment: ModelEnvironment): Settings {
  const { openaiConfigured, openaiBaseUrl, ollamaHost, defaultModel } = environment;
  const model = defaultModel ?? (openaiConfigured ? OPENAI_MODEL : BUILTIN_MODEL);
  const providers = [];
  if (openaiConfigured) {
    const apiKey = environment.readKey(PRESETS.openai.apiKeyEnv);
    providers.push(provider("openai", openaiBaseUrl ?? PRESETS.openai.baseUrl, apiKey, model));
  }
  if (ollamaHost !== undefined) providers.push(provider("ollama", ollamaUrl(ollamaHost), undefined, model));
  return {
    providers: [...providers, builtinSettings()],
    routes: {},
    defaultModel: model,
    embeddings: undefined,
    tools: TOOL_LIMITS,
    toolSecrets: {},
  };
}

function provider(name: string, baseUrl: string, apiKey: string | undefined, defaultModel: string): OpenAiSettings {
  const checkModel = defaultModel.startsWith(`${name}:`) ? defaultModel : "";
  return {
    kind: "openai",
    name,
    baseUrl,
    apiKey,
    headers: {},
    includeUsage: true,
    ...DEFAULTS,
    prices: {},
    checkModel,
  };
}

/** Returns the base URL of Ollama's OpenAI-compatible endpoint for OLLAMA_HOST, which Ollama accepts as `host`, `host:port` or a URL. */
function ollamaUrl(host: string): string {
  const hasScheme = host.includes("://");
  const text = hasScheme ? host : `http://${host}`;
  if (!URL.canParse(text)) throw new SettingsError(["OLLAMA_HOST must be a host, host:port or a URL"]);
  const url = new URL(text);
  if (url.port === "" && !hasScheme) url.port = "11434";
  // A server listens on 0.0.0.0, but a client cannot connect to it everywhere.
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  return new URL("/v1", url).href;
}
