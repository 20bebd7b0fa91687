import { create } from "@bufbuild/protobuf";
import { type ModelSettings, ModelSettingsSchema } from "@parley/rpc/llm";
import type { BotSettings } from "./bot-settings.ts";

/** The settings of a bot that its model must accept. */
const NAMES = ["temperature", "topP", "maxOutputTokens", "reasoningEffort"] as const;

/** Whether a change of a bot can make its model refuse its settings. */
export function concernsModel(patch: Partial<BotSettings>): boolean {
  return ["model" as const, ...NAMES].some((name) => name in patch);
}

/** Returns undefined if the bot has no settings of its model. A value of null in a change unsets a number. */
export function toModelSettings(bot: Partial<Pick<BotSettings, (typeof NAMES)[number]>>): ModelSettings | undefined {
  const { temperature, topP, maxOutputTokens = 0, reasoningEffort = "" } = bot;
  const numbers = { ...(temperature != null && { temperature }), ...(topP != null && { topP }) };
  if (Object.keys(numbers).length === 0 && maxOutputTokens === 0 && reasoningEffort === "") return undefined;
  return create(ModelSettingsSchema, { ...numbers, maxOutputTokens, reasoningEffort });
}
