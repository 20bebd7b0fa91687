import type { BotDisplay, BotTexts } from "@parley/rpc/conversation";

/**
 * Serializes the response of the config endpoint. If you add a field with a default other than its zero value, use `||`: a bot that was stored
 * before the field existed has the zero value. `texts` is not in the contract: it is left out if the bot has none.
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
      ...(hasEntries(display?.texts) && { texts: mapValues(display.texts, toTextsBody) }),
    },
  });
}

/** Leaves out the texts that do not replace the bot's own. */
function toTextsBody({ welcomeMessage, quickReplies, words }: BotTexts) {
  return {
    ...(welcomeMessage !== "" && { welcome_message: welcomeMessage }),
    ...(quickReplies.length > 0 && { quick_replies: quickReplies }),
    ...(hasEntries(words) && { words }),
  };
}

const hasEntries = <Value extends object>(map: Value | undefined): map is Value => Object.keys(map ?? {}).length > 0;

const mapValues = <From, To>(map: Readonly<Record<string, From>>, convert: (value: From) => To) =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, convert(value)]));
