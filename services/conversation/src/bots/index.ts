export type { BotConfig, BotConfigs } from "./bot-configs.service.ts";
export type { Display } from "./bot-display.ts";
export { botNotFound, requireBotId } from "./require-bot.service.ts";
