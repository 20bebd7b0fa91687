import type { BotDisplay } from "@parley/rpc/conversation";

/**
 * Serializes the response of the config endpoint. If you add a field with a default other than its zero value, use `||`: a bot that was stored
 * before the field existed has the zero value.
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
