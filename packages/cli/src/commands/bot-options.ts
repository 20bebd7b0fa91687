import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError, Option, type OptionValues } from "@commander-js/extra-typings";
import type { BotChangesSchema } from "@parley/rpc/conversation";
import { collect, wholeNumber } from "./options.ts";

type Changes = {
  model?: string;
  systemPrompt?: string;
  fallback?: string;
  name?: string;
  welcomeMessage?: string;
  logoUrl?: string;
  primaryColor?: string;
  position?: string;
  themeMode?: string;
  fontFamily?: string;
  borderRadius?: number;
  quickReply?: string[];
  cssVar?: Record<string, string>;
};

/** The options that create and update share, one a field of a bot. */
export function withChangeOptions<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  return command
    .option("--model <provider:name>", "its model; '' for the installation's default")
    .option("--system-prompt <text>", "what the model is told first")
    .option("--fallback <text>", "what is shown when a pattern without a fallback of its own blocks a message")
    .option("--name <name>", "its name in the widget")
    .option("--welcome-message <text>", "the first message shown")
    .option("--logo-url <url>", "a logo; '' for none")
    .option("--primary-color <#RRGGBB>", "its colour")
    .addOption(
      new Option("--position <corner>", "where the widget sits").choices(["bottom-right", "bottom-left"] as const),
    )
    .addOption(new Option("--theme-mode <mode>", "its theme").choices(["light", "dark", "system"] as const))
    .option("--font-family <family>", "a CSS font family")
    .option("--border-radius <pixels>", "corner radius, 0 to 64", wholeNumber(0, 64))
    .option("--quick-reply <text>", "a reply offered at the start; repeatable, replaces them all; '' for none", collect)
    .option("--css-var <name=value>", "a CSS variable; repeatable, replaces them all; '' for none", collectVariable);
}

/** The fields that were given; lists and maps are replaced whole. */
export function toChanges(options: Changes): MessageInitShape<typeof BotChangesSchema> {
  const { quickReply, cssVar, ...plain } = options;
  return {
    ...plain,
    ...(quickReply && { quickReplies: { values: quickReply.filter((text) => text !== "") } }),
    ...(cssVar && { customCssVars: { values: cssVar } }),
  };
}

function collectVariable(text: string, previous: Record<string, string> | undefined): Record<string, string> {
  if (text === "") return previous ?? {};
  const [, name, value] = /^(--[^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("It is written like --gap=4px.");
  return { ...previous, [name]: value };
}
