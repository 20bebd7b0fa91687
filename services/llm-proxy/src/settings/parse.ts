import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { LineCounter, parse, YAMLParseError } from "yaml";
import schema from "../../llm-config.schema.json" with { type: "json" };
import { SettingsError } from "./error.ts";
import { findEntryProblems, hasCloudCredentials, KINDS, tokenScopeOf } from "./kinds.ts";
import { parseModelName, ROUTE_PREFIX } from "./model-name.ts";
import { PRESETS, type Preset } from "./presets.ts";
import type { ProviderEntry } from "./provider-entry.ts";
import { findKindProblems } from "./sampling.ts";
import {
  BUILTIN_MODEL,
  BUILTIN_PROVIDER,
  type CommonSettings,
  createBuiltinSettings,
  DEFAULT_TOOL_LIMITS,
  type Kind,
  type NativeSettings,
  type OpenAiSettings,
  PROVIDER_DEFAULTS,
  type Sampling,
  type Settings,
  type ToolSecret,
} from "./settings.ts";

type NumericSettings<T> = Partial<Record<keyof T, number>>;

type ToolSecretEntry = { env: string; hosts: string[]; workspaces: string[]; header?: string; scheme?: string };

type SettingsFile = {
  default_model?: string;
  providers?: Record<string, ProviderEntry>;
  routes?: Record<string, string[]>;
  embeddings?: { model: string; dimensions?: number };
  tools?: Record<string, number>;
  tool_secrets?: Record<string, ToolSecretEntry>;
};

export type ParseOptions = {
  /** DEFAULT_MODEL; applies if the file has no default_model. */
  defaultModel: string | undefined;
  /**
   * Returns the value of the environment variable `name`, or the content of the file that `<name>_FILE` names. Undefined if neither is set.
   * Throws if the file cannot be used.
   */
  readSecret: (name: string) => string | undefined;
};

const validate = new Ajv2020({ allErrors: true, strict: true, strictRequired: false }).compile<SettingsFile>(schema);

/**
 * Parses the YAML file that LLM_CONFIG names. Throws SettingsError with every violation of the schema or, if there are none, with every other
 * problem.
 */
export function parseSettings(text: string, options: ParseOptions): Settings {
  const file = readYaml(text);
  if (!validate(file)) throw new SettingsError((validate.errors ?? []).map(problemOf));
  const problems: string[] = [];
  const settings: Settings = {
    providers: [
      ...Object.entries(file.providers ?? {}).map(([name, each]) => readProvider(name, each, options, problems)),
      createBuiltinSettings(),
    ],
    routes: file.routes ?? {},
    defaultModel: file.default_model ?? options.defaultModel ?? BUILTIN_MODEL,
    embeddings: file.embeddings && { dimensions: undefined, ...file.embeddings },
    toolLimits: override(DEFAULT_TOOL_LIMITS, file.tools),
    toolSecrets: Object.fromEntries(
      Object.entries(file.tool_secrets ?? {}).map(([name, each]) => [
        name,
        readToolSecret(name, each, options, problems),
      ]),
    ),
  };
  problems.push(...findUnknownModels(settings));
  if (problems.length > 0) throw new SettingsError(problems);
  return { ...settings, providers: settings.providers.map((each) => withCheckModel(each, settings)) };
}

/**
 * Reports only an error's code and position, and suppresses warnings, because the library's messages and warnings quote the file. The file may
 * contain a secret by mistake.
 */
function readYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  try {
    return parse(text, { prettyErrors: false, logLevel: "error", lineCounter }) ?? {};
  } catch (error) {
    if (!(error instanceof YAMLParseError))
      throw new SettingsError(["the file is not YAML, or its aliases cannot be resolved"]);
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new SettingsError([`the file is not YAML: ${error.code} at line ${line}, column ${col}`]);
  }
}

function problemOf(error: ErrorObject): string {
  const path = error.instancePath === "" ? "the file" : error.instancePath.slice(1).replaceAll("/", ".");
  const property = (error.params as { additionalProperty?: string }).additionalProperty;
  return `${path} ${error.message ?? "is invalid"}${property === undefined ? "" : `: ${property}`}`;
}

function readProvider(
  name: string,
  entry: ProviderEntry,
  options: ParseOptions,
  problems: string[],
): OpenAiSettings | NativeSettings {
  const preset: Partial<Preset> = entry.preset === undefined ? {} : PRESETS[entry.preset];
  const kind = entry.kind ?? preset.kind ?? "openai";
  const { buildUrl, urlSettings = "base_url" } = KINDS[kind];
  const baseUrl = entry.base_url ?? preset.baseUrl ?? buildUrl?.(entry);
  if (baseUrl === undefined) problems.push(`providers.${name}: ${urlSettings} is missing`);
  else if (!URL.canParse(baseUrl)) problems.push(`providers.${name}: base_url is not a URL`);
  // Otherwise the cloud's token would be sent to the preset's server.
  if (entry.base_url === undefined && preset.baseUrl !== undefined && buildUrl !== undefined)
    problems.push(`providers.${name}: the preset ${entry.preset} is not of the kind ${kind}`);
  const keyName = entry.api_key_env ?? preset.apiKeyEnv;
  const apiKey =
    keyName === undefined ? undefined : readRequiredSecret(`providers.${name}`, keyName, options, problems);
  for (const problem of findEntryProblems(kind, entry, keyName !== undefined))
    problems.push(`providers.${name}: ${problem}`);
  const settings = {
    name,
    baseUrl: baseUrl ?? "",
    apiKey,
    headers: entry.headers ?? {},
    sampling: readSampling(`providers.${name}`, kind, entry, problems),
    timeouts: override(PROVIDER_DEFAULTS.timeouts, entry.timeouts),
    retries: override(PROVIDER_DEFAULTS.retries, entry.retries),
    concurrency: override(PROVIDER_DEFAULTS.concurrency, entry.concurrency),
    breaker: override(PROVIDER_DEFAULTS.breaker, entry.breaker),
    prices: entry.prices ?? {},
    contextWindows: mergeWindows(preset.contextWindows, entry.context_windows),
    checkModel: entry.check_model === undefined ? "" : `${name}:${entry.check_model}`,
  };
  if (kind === "openai" || kind === "azure") {
    const usesToken = hasCloudCredentials({ kind, apiKey: keyName });
    return {
      kind,
      ...settings,
      includeUsage: entry.include_usage ?? preset.includeUsage ?? true,
      maxTokensParameter: entry.max_tokens_parameter ?? preset.maxTokensParameter ?? "max_tokens",
      ...(usesToken && { tokenScope: tokenScopeOf(entry.cloud) }),
    };
  }
  return { kind, ...settings, region: entry.region ?? "" };
}

/** Returns the operator's windows before the preset's, so they win. Of the operator's, a name without `*` applies first, and then the longest name. */
function mergeWindows(
  ofPreset: CommonSettings["contextWindows"] = PROVIDER_DEFAULTS.contextWindows,
  ofEntry: CommonSettings["contextWindows"] = {},
): CommonSettings["contextWindows"] {
  const rank = (name: string) => (name.includes("*") ? name.length : Infinity);
  const ordered = Object.keys(ofEntry).toSorted((one, other) => Math.sign(rank(other) - rank(one)) || 0);
  const names = new Set([...ordered, ...Object.keys(ofPreset)]);
  return Object.fromEntries([...names].map((name) => [name, ofEntry[name] ?? ofPreset[name] ?? 0]));
}

function readSampling(owner: string, kind: Kind, entry: ProviderEntry, problems: string[]): Sampling {
  const { temperature, top_p: topP, reasoning_effort: reasoningEffort, max_output_tokens: maxOutputTokens } = entry;
  const sampling = {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(reasoningEffort !== undefined && { reasoningEffort }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  };
  problems.push(...findKindProblems(kind, sampling).map(({ sentence }) => `${owner}: ${sentence}`));
  return sampling;
}

function readToolSecret(name: string, entry: ToolSecretEntry, options: ParseOptions, problems: string[]): ToolSecret {
  const { env, hosts, workspaces, header = "Authorization" } = entry;
  const value = readRequiredSecret(`tool_secrets.${name}`, env, options, problems);
  if (value !== undefined && !/^[!-~]([ -~]*[!-~])?$/.test(value))
    problems.push(`tool_secrets.${name}: the value of ${env} cannot be sent in a header`);
  // A secret is sent unencrypted only if the file writes the host with http://.
  const urls = hosts.map((host) => (host.includes("://") ? host : `https://${host}`));
  const invalid = urls.find((url) => !URL.canParse(url) || new URL(url).href !== `${new URL(url).origin}/`);
  if (invalid !== undefined)
    problems.push(`tool_secrets.${name}: ${invalid} is not a host with an optional scheme and port`);
  return {
    value: value ?? "",
    header,
    scheme: entry.scheme ?? (header.toLowerCase() === "authorization" ? "Bearer" : ""),
    origins: invalid === undefined ? urls.map((url) => new URL(url).origin) : [],
    workspaces,
  };
}

function readRequiredSecret(
  owner: string,
  name: string,
  options: ParseOptions,
  problems: string[],
): string | undefined {
  try {
    const secret = options.readSecret(name);
    if (secret === undefined) problems.push(`${owner}: the environment variable ${name} is not set`);
    return secret;
  } catch (error) {
    problems.push(`${owner}: ${error instanceof Error ? error.message : error}`);
    return undefined;
  }
}

/** The keys of `values` are in snake case: `first_token_ms` for `firstTokenMs`. */
function override<T extends NumericSettings<T>>(defaults: T, values: Record<string, number> = {}): T {
  const entries = Object.entries(values).map(([key, value]) => [
    key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return { ...defaults, ...Object.fromEntries(entries) };
}

/** Returns a problem for each model or route that the settings name but do not configure. */
export function findUnknownModels(settings: Settings): string[] {
  const providers = settings.providers.map((each) => each.name);
  const isUnknown = (model: string) => {
    const { provider = "", name = "" } = parseModelName(model) ?? {};
    if (provider === BUILTIN_PROVIDER) return model !== BUILTIN_MODEL;
    return provider === ROUTE_PREFIX ? !Object.hasOwn(settings.routes, name) : !providers.includes(provider);
  };
  const problems = Object.entries(settings.routes).flatMap(([route, models]) =>
    models
      .filter((model) => isUnknown(model) || model.startsWith(`${ROUTE_PREFIX}:`))
      .map((model) => `routes.${route} names ${model}, which is not a model of a configured provider`),
  );
  if (isUnknown(settings.defaultModel)) {
    problems.push(
      `the default model ${settings.defaultModel} is not a model of a configured provider, nor a configured route`,
    );
  }
  const { embeddings } = settings;
  const owner = settings.providers.find(({ name }) => embeddings?.model.startsWith(`${name}:`));
  if (owner !== undefined && owner.kind !== "builtin" && !KINDS[owner.kind].isOpenAi) {
    problems.push(
      `embeddings.model ${embeddings?.model} is a model of a provider without embeddings: only the kinds openai and azure have them`,
    );
  }
  if (embeddings && !providers.some((name) => name !== BUILTIN_PROVIDER && embeddings.model.startsWith(`${name}:`))) {
    problems.push(
      `embeddings.model ${embeddings.model} is not a model of a configured provider other than ${BUILTIN_PROVIDER}`,
    );
  }
  return problems;
}

/** Sets the model of `parley provider check` if the file does not: the first of the provider's models that is the default or in a route. */
function withCheckModel<T extends CommonSettings>(provider: T, { defaultModel, routes }: Settings): T {
  if (provider.checkModel !== "") return provider;
  const named = [defaultModel, ...Object.values(routes).flat()];
  return { ...provider, checkModel: named.find((model) => model.startsWith(`${provider.name}:`)) ?? "" };
}
