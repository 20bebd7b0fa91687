import type { BotDisplay, BotTexts } from "@parley/rpc/conversation";
import Type from "typebox";

const text = (description: string) => Type.String({ description });
const texts = (description: string) => Type.Array(Type.String(), { description });

const BotTextsSchema = Type.Object({
  welcome_message: Type.Optional(text("The first message shown.")),
  quick_replies: Type.Optional(texts("Replies offered at the start.")),
  words: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "Texts of the widget by name." })),
});

const Bot = Type.Object(
  {
    name: text("The bot's name."),
    welcome_message: text("The first message shown."),
    logo_url: text("URL of a logo; empty for none."),
    primary_color: Type.String({ description: "Colour as `#RRGGBB`.", pattern: "^#[0-9A-Fa-f]{6}$" }),
    position: Type.Enum(["bottom-right", "bottom-left"], { description: "Corner of the page." }),
    theme_mode: Type.Enum(["light", "dark", "system"], { description: "Colour scheme." }),
    font_family: text("CSS font family."),
    border_radius: Type.Integer({ description: "Corner radius in CSS pixels.", minimum: 0 }),
    quick_replies: texts("Replies offered at the start."),
    custom_css_vars: Type.Record(Type.String(), Type.String(), {
      propertyNames: { pattern: "^--" },
      description: "CSS variables by name.",
    }),
    texts: Type.Optional(
      Type.Record(Type.String(), BotTextsSchema, {
        description:
          "Texts that replace the bot's own and the widget's, by the language in which the visitor sees the widget. Absent if the bot has none.",
      }),
    ),
    handoff: Type.Optional(
      Type.Literal(true, { description: "Visitors may ask for a person: see `/api/chat/handoff/`. Otherwise absent." }),
    ),
  },
  { title: "Bot", description: "Display configuration of a bot." },
);

export const WidgetConfig = Type.Object(
  { bot: Bot },
  { title: "WidgetConfig", description: "The response of the config endpoint." },
);

/**
 * Serializes the response of the config endpoint. If you add a field with a default other than its zero value, use `||`: a bot that was stored
 * before the field existed has the zero value. `texts` and `handoff` are not in the contract: they are left out if the bot has none.
 */
export function serializeConfigBody(display: BotDisplay | undefined, hasHandoff: boolean): string {
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
      ...(hasHandoff && { handoff: true }),
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
