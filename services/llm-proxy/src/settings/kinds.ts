import type { AzureCloud, ProviderEntry } from "./provider-entry.ts";
import type { Kind, NativeSettings, OpenAiSettings, RemoteSettings } from "./settings.ts";

/** What LLM_CONFIG must have for a kind, and what all models of its API have in common. */
type KindRules = {
  /**
   * How requests authenticate:
   * - key: with a key, which is required.
   * - optional_key: with a key if there is one.
   * - key_or_cloud: with a key if there is one, else with the credentials of the machine or the cluster.
   * - cloud: with these credentials only.
   */
  credentials: "key" | "optional_key" | "key_or_cloud" | "cloud";
  /** Returns the URL of the API if the preset has none; undefined if a setting is missing. */
  buildUrl?(entry: ProviderEntry): string | undefined;
  /** The settings that `buildUrl` needs. */
  urlSettings?: string;
  /** The settings that requests need if the credentials are the cloud's. */
  cloudSettings?: readonly ("region" | "project" | "location")[];
  /** The highest temperature that the API accepts; the schema has OpenAI's. */
  maxTemperature?: number;
  /** Whether the API accepts only one of temperature, top_p and reasoning_effort. */
  acceptsOneOfSampling?: boolean;
  /** Whether the API is OpenAI's, which also has embeddings. */
  isOpenAi?: boolean;
};

export const KINDS: Readonly<Record<Kind, KindRules>> = {
  openai: { credentials: "optional_key", isOpenAi: true },
  azure: { credentials: "key_or_cloud", buildUrl: buildAzureUrl, urlSettings: "resource or base_url", isOpenAi: true },
  anthropic: { credentials: "key", maxTemperature: 1, acceptsOneOfSampling: true },
  bedrock: {
    credentials: "key_or_cloud",
    buildUrl: buildBedrockUrl,
    urlSettings: "region",
    cloudSettings: ["region"],
    maxTemperature: 1,
  },
  google: { credentials: "key" },
  mistral: { credentials: "key", maxTemperature: 1.5 },
  vertex: { credentials: "cloud", buildUrl: buildVertexUrl, urlSettings: "project or location" },
};

/** Whether requests use the credentials of the machine or the cluster, and not a key. */
export function hasCloudCredentials({ kind, apiKey }: Pick<RemoteSettings, "apiKey"> & { kind: Kind }): boolean {
  const { credentials } = KINDS[kind];
  return credentials === "cloud" || (credentials === "key_or_cloud" && apiKey === undefined);
}

/** Whether a provider has OpenAI's API. */
export function hasOpenAiApi(settings: OpenAiSettings | NativeSettings): settings is OpenAiSettings {
  return KINDS[settings.kind].isOpenAi === true;
}

/** Returns the problems of an entry with its kind. `hasKey` is whether the entry or its preset names a key. */
export function findEntryProblems(kind: Kind, entry: ProviderEntry, hasKey: boolean): string[] {
  const { credentials, cloudSettings = [], isOpenAi } = KINDS[kind];
  const problems: string[] = [];
  if (credentials === "cloud" && hasKey)
    problems.push(`api_key_env is not for the kind ${kind}, which uses the credentials of the cloud`);
  if (credentials === "key" && !hasKey) problems.push("api_key_env is missing");
  // Without base_url, buildUrl reports the setting.
  if (!hasKey && entry.base_url !== undefined)
    problems.push(...cloudSettings.filter((name) => entry[name] === undefined).map((name) => `${name} is missing`));
  if (!isOpenAi)
    for (const name of ["include_usage", "max_tokens_parameter"] as const)
      if (entry[name] !== undefined) problems.push(`${name} is only for the kinds openai and azure`);
  return problems;
}

/** By cloud of Azure: the domain of its resources, and the audience of its access tokens. */
const AZURE_CLOUDS = {
  public: { domain: "openai.azure.com", audience: "https://cognitiveservices.azure.com" },
  "us-government": { domain: "openai.azure.us", audience: "https://cognitiveservices.azure.us" },
  china: { domain: "openai.azure.cn", audience: "https://cognitiveservices.azure.cn" },
} as const satisfies Record<AzureCloud, object>;

function buildAzureUrl({ resource, cloud = "public" }: ProviderEntry): string | undefined {
  return resource === undefined ? undefined : `https://${resource}.${AZURE_CLOUDS[cloud].domain}/openai/v1`;
}

/** Returns the scope of the access tokens for Azure OpenAI in a cloud. */
export function tokenScopeOf(cloud: AzureCloud = "public"): string {
  return `${AZURE_CLOUDS[cloud].audience}/.default`;
}

/** By the beginning of a region's name: the domain of AWS's other partitions. */
const AWS_DOMAINS: Readonly<Record<string, string>> = {
  "cn-": "amazonaws.com.cn",
  "eusc-": "amazonaws.eu",
  "us-iso-": "c2s.ic.gov",
  "us-isob-": "sc2s.sgov.gov",
  "eu-isoe-": "cloud.adc-e.uk",
  "us-isof-": "csp.hci.ic.gov",
};

function buildBedrockUrl({ region }: ProviderEntry): string | undefined {
  if (region === undefined) return undefined;
  const [, domain = "amazonaws.com"] = Object.entries(AWS_DOMAINS).find(([begin]) => region.startsWith(begin)) ?? [];
  return `https://bedrock-runtime.${region}.${domain}`;
}

/** Returns undefined if the project or the location is missing. */
function buildVertexUrl({ project, location }: ProviderEntry): string | undefined {
  if (project === undefined || location === undefined) return undefined;
  const isMultiRegion = location === "eu" || location === "us";
  const regionalHost = isMultiRegion ? `aiplatform.${location}.rep` : `${location}-aiplatform`;
  const host = location === "global" ? "aiplatform" : regionalHost;
  return `https://${host}.googleapis.com/v1beta1/projects/${project}/locations/${location}/publishers/google`;
}
