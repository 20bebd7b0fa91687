import { SettingsError } from "./error.ts";
import { PRESETS } from "./presets.ts";
import {
  BUILTIN_MODEL,
  createBuiltinSettings,
  DEFAULT_CONTEXT_WINDOW,
  DEFAULT_TOOL_LIMITS,
  type OpenAiSettings,
  PROVIDER_DEFAULTS,
  type Settings,
} from "./settings.ts";

/** The environment variables for models and providers. If LLM_CONFIG is set, only `defaultModel` and `readSecret` are used. */
export type ModelEnvironment = {
  /** Whether OPENAI_API_KEY, OPENAI_API_KEY_FILE or OPENAI_BASE_URL is set. */
  isOpenaiConfigured: boolean;
  openaiBaseUrl: string | undefined;
  ollamaHost: string | undefined;
  defaultModel: string | undefined;
  readSecret: (name: string) => string | undefined;
};

const OPENAI_MODEL = "openai:gpt-4o-mini";

/** Returns the settings that apply if LLM_CONFIG is not set. */
export function settingsFromEnvironment(environment: ModelEnvironment): Settings {
  const { isOpenaiConfigured, openaiBaseUrl, ollamaHost, defaultModel } = environment;
  const model = defaultModel ?? (isOpenaiConfigured ? OPENAI_MODEL : BUILTIN_MODEL);
  const providers = [];
  if (isOpenaiConfigured) {
    const apiKey = environment.readSecret(PRESETS.openai.apiKeyEnv);
    // Another server than OpenAI's can have any model.
    const windows = openaiBaseUrl === undefined ? PRESETS.openai.contextWindows : { "*": DEFAULT_CONTEXT_WINDOW };
    providers.push(createProviderSettings("openai", openaiBaseUrl ?? PRESETS.openai.baseUrl, apiKey, model, windows));
  }
  if (ollamaHost !== undefined)
    providers.push(
      createProviderSettings("ollama", buildOllamaUrl(ollamaHost), undefined, model, PRESETS.ollama.contextWindows),
    );
  return {
    providers: [...providers, createBuiltinSettings()],
    routes: {},
    defaultModel: model,
    embeddings: undefined,
    toolLimits: DEFAULT_TOOL_LIMITS,
    toolSecrets: {},
  };
}

function createProviderSettings(
  name: string,
  baseUrl: string,
  apiKey: string | undefined,
  defaultModel: string,
  contextWindows: OpenAiSettings["contextWindows"],
): OpenAiSettings {
  const checkModel = defaultModel.startsWith(`${name}:`) ? defaultModel : "";
  return {
    kind: "openai",
    name,
    baseUrl,
    apiKey,
    headers: {},
    includeUsage: true,
    maxTokensParameter: baseUrl === PRESETS.openai.baseUrl ? PRESETS.openai.maxTokensParameter : "max_tokens",
    sampling: {},
    ...PROVIDER_DEFAULTS,
    prices: {},
    contextWindows,
    checkModel,
  };
}

/**
 * Returns the base URL of Ollama's OpenAI-compatible endpoint. `host` is the value of OLLAMA_HOST: a host with an optional port, or a URL.
 * Both forms may have a path.
 */
function buildOllamaUrl(host: string): string {
  const hasScheme = host.includes("://");
  const text = hasScheme ? host : `http://${host}`;
  if (!URL.canParse(text)) throw new SettingsError(["OLLAMA_HOST must be a host, host:port or a URL"]);
  const url = new URL(text);
  // URL drops the port 80, so `url.port` does not show whether `host` contains a port.
  if (!hasScheme && !/^[^/]*:\d+(\/|$)/.test(host)) url.port = "11434";
  // A server can listen on 0.0.0.0, but on some systems a client cannot connect to it.
  if (url.hostname === "0.0.0.0") url.hostname = "127.0.0.1";
  const path = url.pathname.replace(/\/+$/, "");
  return new URL(path.endsWith("/v1") ? path : `${path}/v1`, url).href;
}
