import type { BotDisplay } from "@parley/rpc/conversation";

/**
 * Serializes the response of the config endpoint. If a bot was stored before a field existed, the field arrives as its zero value. Use `||`
 * to give a new field its default here.
 */
export function serializeConfigBody(display: BotDisplay | undefined): string {
  return JSON.stringify({
    bot: {
      name: display?.name ?? "",
      welcome_message: display?.welcomeMessage ?? "",
      logo_url: display?.logoUrl ?? "",
      primary_color: display?.primaryColor ?? "",
      position: display?.position ?? "",
      theme_mode: display?.themeMode ?? "",
      font_family: display?.fontFamily ?? "",
      border_radius: display?.borderRadius ?? 0,
      quick_replies: display?.quickReplies ?? [],
      custom_css_vars: display?.customCssVars ?? {},
    },
  });
}
