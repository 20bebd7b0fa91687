import type { MessageInitShape } from "@bufbuild/protobuf";
import type { BotDisplaySchema } from "@parley/rpc/conversation";

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
