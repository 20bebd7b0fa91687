import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { parse } from "yaml";
import schema from "../../llm-config.schema.json" with { type: "json" };
import { SettingsError } from "./error.ts";
import { parseModelName, ROUTE_PREFIX } from "./model-name.ts";
import { PRESETS, type Preset, type PresetName } from "./presets.ts";
import {
  BUILTIN_MODEL,
  BUILTIN_PROVIDER,
  builtinSettings,
  type CommonSettings,
  DEFAULTS,
  type OpenAiSettings,
  type Settings,
  TOOL_LIMITS,
  type ToolSecret,
} from "./settings.ts";

type Numbers<T> = Partial<Record<keyof T, number>>;

type FileProvider = {
  preset?: PresetName;
  base_url?: string;
  api_key_env?: string;
  headers?: Record<string, string>;
  include_usage?: boolean;
  check_model?: string;
  prices?: CommonSettings["prices"];
} & Partial<Record<"timeouts" | "retries" | "concurrency" | "breaker", Record<string, number>>>;

type FileSecret = { env: string; hosts: string[]; workspaces: string[]; header?: string; scheme?: string };

type File = {
  default_model?: string;
  providers?: Record<string, FileProvider>;
  routes?: Record<string, string[]>;
  embeddings?: { model: string; dimensions?: number };
  tools?: Record<string, number>;
  tool_secrets?: Record<string, FileSecret>;
};

export type ParseOptions = {
  /** DEFAULT_MODEL, for a file that names none. */
  defaultModel: string | undefined;
  readKey: (name: string) => string | undefined;
};

const validate = new Ajv2020({ allErrors: true, strict: true, strictRequired: false }).compile<File>(schema);

/** Reads the file of providers and routes. Throws SettingsError with everything that is wrong. */
export function parseSettings(text: string, options: ParseOptions): Settings {
  const file = readYaml(text);
  if (!validate(file)) throw new SettingsError((validate.errors ?? []).map(problemOf));
  const problems: string[] = [];
  const settings: Settings = {
    providers: [
      ...Object.entries(file.providers ?? {}).map(([name, each]) => readProvider(name, each, options, problems)),
      builtinSettings(),
    ],
    routes: file.routes ?? {},
    defaultModel: file.default_model ?? options.defaultModel ?? BUILTIN_MODEL,
    embeddings: file.embeddings && { dimensions: undefined, ...file.embeddings },
    tools: overlay(TOOL_LIMITS, file.tools),
    toolSecrets: Object.fromEntries(
      Object.entries(file.tool_secrets ?? {}).map(([name, each]) => [name, readSecret(name, each, options, problems)]),
    ),
  };
  problems.push(...unknownModels(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return { ...settings, providers: settings.providers.map((each) => withCheckModel(each, settings)) };
}

function readYaml(text: string): unknown {
  try {
    return parse(text) ?? {};
  } catch (error) {
    throw new SettingsError([error instanceof Error ? error.message : "not YAML"]);
  }
}

function problemOf(error: ErrorObject): string {
  const where = error.instancePath === "" ? "the file" : error.instancePath.slice(1).replaceAll("/", ".");
  const what = (error.params as { additionalProperty?: string }).additionalProperty;
  return `${where} ${error.message ?? "is wrong"}${what === undefined ? "" : `: ${what}`}`;
}

function readProvider(name: string, file: FileProvider, options: ParseOptions, problems: string[]): OpenAiSettings {
  const preset: Partial<Preset> = file.preset === undefined ? {} : PRESETS[file.preset];
  const baseUrl = file.base_url ?? preset.baseUrl;
  if (baseUrl === undefined) problems.push(`providers.${name} needs a base_url`);
  const keyName = file.api_key_env ?? preset.apiKeyEnv;
  const apiKey = keyName === undefined ? undefined : options.readKey(keyName);
  if (keyName !== undefined && apiKey === undefined) {
    problems.push(`providers.${name}: the environment variable ${keyName} is not set`);
  }
  return {
    kind: "openai",
    name,
    baseUrl: baseUrl ?? "",
    apiKey,
    headers: file.headers ?? {},
    includeUsage: file.include_usage ?? preset.includeUsage ?? true,
    timeouts: overlay(DEFAULTS.timeouts, file.timeouts),
    retries: overlay(DEFAULTS.retries, file.retries),
    concurrency: overlay(DEFAULTS.concurrency, file.concurrency),
    breaker: overlay(DEFAULTS.breaker, file.breaker),
    prices: file.prices ?? {},
    checkModel: file.check_model === undefined ? "" : `${name}:${file.check_model}`,
  };
}

function readSecret(name: string, file: FileSecret, options: ParseOptions, problems: string[]): ToolSecret {
  const { env, hosts, workspaces, header = "Authorization" } = file;
  const value = options.readKey(env);
  if (value === undefined) problems.push(`tool_secrets.${name}: the environment variable ${env} is not set`);
  else if (!/^[!-~]([ -~]*[!-~])?$/.test(value)) problems.push(`tool_secrets.${name}: ${env} holds what no header can`);
  // Without a scheme https is meant: a secret goes over an open line only where that is written down.
  const urls = hosts.map((host) => (host.includes("://") ? host : `https://${host}`));
  const wrong = urls.find((url) => !URL.canParse(url) || new URL(url).href !== `${new URL(url).origin}/`);
  if (wrong !== undefined) problems.push(`tool_secrets.${name}: ${wrong} is no host, perhaps with a scheme and port`);
  return {
    value: value ?? "",
    header,
    scheme: file.scheme ?? (header.toLowerCase() === "authorization" ? "Bearer" : ""),
    origins: wrong === undefined ? urls.map((url) => new URL(url).origin) : [],
    workspaces,
  };
}

/** `first_token_ms` in the file is `firstTokenMs` here; the schema has seen to it that there are no others. */
function overlay<T extends Numbers<T>>(defaults: T, given: Record<string, number> = {}): T {
  const named = Object.entries(given).map(([key, value]) => [
    key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return { ...defaults, ...Object.fromEntries(named) };
}

/** What models and routes are named that are not there. */
export function unknownModels(settings: Settings): string[] {
  const providers = settings.providers.map((each) => each.name);
  const unknown = (model: string) => {
    const { provider = "", name = "" } = parseModelName(model) ?? {};
    if (provider === BUILTIN_PROVIDER) return model !== BUILTIN_MODEL;
    return provider === ROUTE_PREFIX ? !Object.hasOwn(settings.routes, name) : !providers.includes(provider);
  };
  const problems = Object.entries(settings.routes).flatMap(([route, models]) =>
    models
      .filter((model) => unknown(model) || model.startsWith(`${ROUTE_PREFIX}:`))
      .map((model) => `routes.${route} names ${model}, which is no model of a configured provider`),
  );
  if (unknown(settings.defaultModel)) {
    problems.push(`the default model ${settings.defaultModel} is not one of a configured provider or route`);
  }
  const { embeddings } = settings;
  if (embeddings && !providers.some((name) => name !== BUILTIN_PROVIDER && embeddings.model.startsWith(`${name}:`))) {
    problems.push(`embeddings.model ${embeddings.model} is no model of a configured provider`);
  }
  return problems;
}

/** A provider without a model to check is checked with the first of its own that anything names. */
function withCheckModel<T extends CommonSettings>(provider: T, { defaultModel, routes }: Settings): T {
  if (provider.checkModel !== "") return provider;
  const named = [defaultModel, ...Object.values(routes).flat()];
  return { ...provider, checkModel: named.find((model) => model.startsWith(`${provider.name}:`)) ?? "" };
}
