import { fromJson, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { type Command, InvalidArgumentError, Option, type OptionValues } from "@commander-js/extra-typings";
import {
  type BotChanges,
  BotChangesSchema,
  TemperatureSchema,
  TextsByLanguageSchema,
  TopPSchema,
} from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { CliError } from "../../errors.ts";
import { optionalNumberParser, wholeNumberParser } from "../options.ts";
import { readInputFile } from "../read-input-file.ts";

const MESSAGES_PER_DAY = limitsOf(BotChangesSchema.field.visitorMessagesPerDay);
const HANDOFF_WAIT = limitsOf(BotChangesSchema.field.handoffWaitSeconds);
const AFTER_DECLINED = limitsOf(BotChangesSchema.field.handoffAfterDeclined);
const AFTER_BADLY_RATED = limitsOf(BotChangesSchema.field.handoffAfterBadlyRated);
const RADIUS = limitsOf(BotChangesSchema.field.borderRadius);

const TEMPERATURE = limitsOf(TemperatureSchema.field.value);
const TOP_P = limitsOf(TopPSchema.field.value);
const OUTPUT_TOKENS = limitsOf(BotChangesSchema.field.maxOutputTokens);

/** Most options have the name and the type of their field. */
type BotOptions = Omit<
  BotChanges,
  | "$typeName"
  | "$unknown"
  | "quickReplies"
  | "customCssVars"
  | "texts"
  | "temperature"
  | "topP"
  | "handoffEnabled"
  | "handoffHours"
> & {
  handoffEnabled?: "on" | "off";
  handoffHours?: string[];
  temperature?: { value?: number };
  topP?: { value?: number };
  quickReply?: string[];
  cssVar?: Record<string, string>;
  texts?: string;
};

/** Adds the options that `bot create` and `bot update` share: one for each field of BotChanges. */
export function withBotOptions<Args extends unknown[], Opts extends OptionValues>(command: Command<Args, Opts>) {
  return command
    .option("--model <provider:name>", "Set the model; '' for the installation's default.")
    .option(
      "--temperature <number>",
      "Set the model's temperature; '' for the provider's.",
      optionalNumberParser(TEMPERATURE.min, TEMPERATURE.max),
    )
    .option(
      "--top-p <number>",
      "Set the model's top_p; '' for the provider's.",
      optionalNumberParser(TOP_P.min, TOP_P.max),
    )
    .option(
      "--max-output-tokens <count>",
      "Limit a completion's tokens; 0: the provider's limit.",
      wholeNumberParser(0, OUTPUT_TOKENS.max),
    )
    .addOption(
      new Option("--reasoning-effort <effort>", "Set the model's effort; '' for the provider's.").choices([
        "",
        "none",
        "minimal",
        "low",
        "medium",
        "high",
        "xhigh",
      ] as const),
    )
    .option("--system-prompt <text>", "Set the system prompt.")
    .option("--fallback <text>", "Set the default text that replaces blocked replies.")
    .addOption(
      new Option("--show-sources <which>", "Show visitors the sources of answers.").choices([
        "off",
        "links",
        "all",
      ] as const),
    )
    .option("--time-zone <name>", 'Set the time zone of "today", such as Europe/Berlin.')
    .option(
      "--visitor-messages-per-day <count>",
      "Limit a visitor's messages a day; 0: none.",
      wholeNumberParser(MESSAGES_PER_DAY.min, MESSAGES_PER_DAY.max),
    )
    .option("--consent-text <text>", "Set what visitors must agree to; '' for nothing.")
    .option("--consent-version <version>", "Set the consent's version; a change asks again.")
    .option("--consent-link <url>", "Set the consent's https link; '' for none.")
    .addOption(
      new Option("--handoff-enabled <on|off>", "Let people take over conversations.").choices(["on", "off"] as const),
    )
    .option(
      "--handoff-wait-seconds <seconds>",
      "Set how long visitors wait for a person.",
      wholeNumberParser(HANDOFF_WAIT.min, HANDOFF_WAIT.max),
    )
    .option("--handoff-hours <days times>", "Add hours like 'mon-fri 09:00-17:30'; '' for always.", collectReply)
    .option(
      "--handoff-after-declined <count>",
      "Ask for a person after unanswered questions; 0: never.",
      wholeNumberParser(AFTER_DECLINED.min, AFTER_DECLINED.max),
    )
    .option(
      "--handoff-after-badly-rated <count>",
      "Ask for a person after bad ratings; 0: never.",
      wholeNumberParser(AFTER_BADLY_RATED.min, AFTER_BADLY_RATED.max),
    )
    .option("--name <name>", "Set the name in the widget.")
    .option("--welcome-message <text>", "Set the first message in the widget.")
    .option("--logo-url <url>", "Set the logo's URL; '' for none.")
    .option("--primary-color <#RRGGBB>", "Set the primary colour.")
    .addOption(
      new Option("--position <corner>", "Choose the widget's corner.").choices([
        "bottom-right",
        "bottom-left",
      ] as const),
    )
    .addOption(new Option("--theme-mode <mode>", "Choose the theme.").choices(["light", "dark", "system"] as const))
    .option("--font-family <family>", "Set the CSS font family.")
    .option(
      "--border-radius <pixels>",
      `Set the corner radius, ${RADIUS.min} to ${RADIUS.max}.`,
      wholeNumberParser(RADIUS.min, RADIUS.max),
    )
    .option("--quick-reply <text>", "Add a suggested message, repeatable; '' clears all.", collectReply)
    .option("--css-var <name=value>", "Set a CSS variable, repeatable; '' clears all.", collectVariable)
    .option("--texts <file>", "Set texts by language; '' clears all.");
}

/** Converts the given options to changes. A given list or map replaces the stored list or map as a whole. Throws CliError for a wrong file. */
export async function toBotChanges(options: BotOptions): Promise<MessageInitShape<typeof BotChangesSchema>> {
  const { quickReply, cssVar, texts, handoffEnabled, handoffHours, ...plain } = options;
  return {
    ...plain,
    ...(handoffEnabled && { handoffEnabled: handoffEnabled === "on" }),
    ...(handoffHours && { handoffHours: { values: handoffHours } }),
    ...(quickReply && { quickReplies: { values: quickReply } }),
    ...(cssVar && { customCssVars: { values: cssVar } }),
    ...(texts !== undefined && { texts: texts === "" ? {} : await readTexts(texts) }),
  };
}

/** Reads a JSON file such as `{"de": {"welcome_message": "Hallo!", "quick_replies": [], "words": {"send": "Los"}}}`. */
async function readTexts(path: string) {
  const text = (await readInputFile(path)).toString();
  try {
    return fromJson(TextsByLanguageSchema, { values: JSON.parse(text) as JsonValue });
  } catch (cause) {
    throw new CliError(
      `${path} is no JSON of texts by language: write it like {"de": {"welcome_message": "Hallo!", "quick_replies": [], "words": {}}}`,
      { cause },
    );
  }
}

function collectReply(text: string, previous: string[] | undefined): string[] {
  refuseEmptyBesideOthers(text, previous);
  return text === "" ? [] : [...(previous ?? []), text];
}

function collectVariable(text: string, previous: Record<string, string> | undefined): Record<string, string> {
  refuseEmptyBesideOthers(text, previous && Object.keys(previous));
  if (text === "") return {};
  const [, name, value] = /^(--[^=\s]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("Write it like --gap=4px.");
  return { ...previous, [name]: value };
}

/** Refuses an empty value together with other values, because it clears the list or map. If `previous` is empty, an earlier value was empty. */
function refuseEmptyBesideOthers(text: string, previous: readonly string[] | undefined): void {
  if (previous !== undefined && (text === "" || previous.length === 0))
    throw new InvalidArgumentError("An empty value must be the option's only value.");
}
