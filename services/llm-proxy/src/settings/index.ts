export { computeCost, findPrice, formatCost, type Price } from "./cost.ts";
export { hasCloudCredentials, hasOpenAiApi } from "./kinds.ts";
export { parseModelName, ROUTE_PREFIX } from "./model-name.ts";
export {
  findKnownProblem,
  readModelSettings,
  resolveSampling,
  type SamplingProblem,
  SETTING_NAMES,
} from "./sampling.ts";
export {
  type BreakerPolicy,
  type ConcurrencyPolicy,
  findContextWindow,
  listConfiguredModels,
  type NativeKind,
  type NativeSettings,
  type OpenAiSettings,
  type ProviderSettings,
  type RemoteSettings,
  type RetryPolicy,
  type Sampling,
  type Settings,
  type Timeouts,
  type ToolLimits,
  type ToolSecret,
} from "./settings.ts";
