export { readBotConfig } from "./bot-config.store.ts";
export type { BotConfig, GetBotConfig } from "./bot-configs.service.ts";
export type { Display } from "./bot-settings.ts";
export type { BotRef } from "./bots.store.ts";
export { chooseTranslation } from "./choose-translation.ts";
export { isWithinHours } from "./hours.ts";
export { isModelName } from "./model-name.ts";
export { toModelSettings } from "./model-settings.ts";
export { botNotFound, requireBotId } from "./require-bot.service.ts";
