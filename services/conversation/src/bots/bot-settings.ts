import { fromJson, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { DEFAULT_FALLBACK } from "@parley/bot-rules/moderation";
import { type Bot, type BotDisplaySchema, BotSchema } from "@parley/rpc/conversation";

/** The settings of a bot that are not part of its display. A new setting needs a field in Bot and one in BotChanges. */
export type BotSettings = Omit<Bot, "$typeName" | "$unknown" | "id" | "workspaceId" | "slug" | "display" | "createdAt">;

/** The column `settings`: fields of Bot in protobuf's JSON format. */
export type StoredSettings = JsonObject;

/** The default of any other setting is the zero value of its type. */
const DEFAULTS = {
  fallback: DEFAULT_FALLBACK,
  timeZone: "UTC",
  consentVersion: "1",
  showSources: "off",
  handoffWaitSeconds: 180,
};

/** Returns all settings. A setting that is not stored, because the bot is new or older than the setting, has its default. */
export function readSettings(stored: StoredSettings): BotSettings {
  const bot = fromJson(BotSchema, { ...DEFAULTS, ...stored }, { ignoreUnknownFields: true });
  const { $typeName, $unknown, id, workspaceId, slug, display, createdAt, ...settings } = bot;
  return settings;
}

/** How the widget shows a bot. The column `display` stores this object as JSON. */
export type Display = Required<Omit<MessageInitShape<typeof BotDisplaySchema>, "$typeName" | "$unknown">>;

export const DEFAULT_DISPLAY: Display = {
  name: "Assistant",
  welcomeMessage: "Hello! How can I help you?",
  logoUrl: "",
  primaryColor: "#2563EB",
  position: "bottom-right",
  themeMode: "system",
  fontFamily: "system-ui, sans-serif",
  borderRadius: 12,
  quickReplies: [],
  customCssVars: {},
  texts: {},
};
