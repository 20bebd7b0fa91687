export { computeCost, findPrice, formatCost, type Price } from "./cost.ts";
export { parseModelName, ROUTE_PREFIX } from "./model-name.ts";
export type {
  BreakerPolicy,
  ConcurrencyPolicy,
  OpenAiSettings,
  ProviderSettings,
  RetryPolicy,
  Settings,
  Timeouts,
  ToolLimits,
  ToolSecret,
} from "./settings.ts";
