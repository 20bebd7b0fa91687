import { create, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type BotChanges, BotChangesSchema, BotDisplaySchema, type BotTexts } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { invalidArgument, isLongerThan } from "@parley/service-kit";
import type { BotSettings, Display } from "./bot-settings.ts";
import { isHoursRange } from "./hours.ts";
import { isModelName } from "./model-name.ts";

/** The new values of a bot's fields. Fields that are not set do not change. */
export type BotPatch = Partial<BotSettings> & { display: Partial<Display> };

type Scalar = string | number | boolean;
type Wrapper = { values?: JsonValue; value?: JsonValue };
type Predicate = (value: string) => boolean;

const { max: MAX_FONT_CHARACTERS } = limitsOf(BotChangesSchema.field.fontFamily);
const COLOR = /^#[0-9a-fA-F]{6}$/;
const CSS_VARIABLE = /^--[A-Za-z0-9_-]{1,100}$/;
/**
 * Matches a CSS value that cannot end its declaration: quoted strings, words, numbers, colours, operators and parentheses. It permits no
 * backslash escapes, which could disguise a function's name. callsOnlyAllowedFunctions checks the names, so that a value cannot load a URL.
 */
const CSS_VALUE = /^(?:"[^"\\\p{Cc}<>{};]*"|'[^'\\\p{Cc}<>{};]*'|[\p{L}\p{M}\p{N} #%.,+*/()=_-])*$/u;
const LANGUAGE = /^[a-z]{2,3}(-[a-z]{2,8})?$/;
const WORD = /^[A-Za-z]{1,40}$/;
/** Each page with the widget loads the texts of all languages, with the bot's configuration. */
const MAX_TEXTS_BYTES = 16 * 1024;
const CSS_COMMENT = /\/\*|\*\//;
const CSS_STRING = /"[^"]*"|'[^']*'/g;
const CSS_CALL = /([\p{L}\p{M}\p{N}_-]*)\(/gu;
const CSS_FUNCTIONS = new Set(
  (
    "rgb rgba hsl hsla hwb lab lch oklab oklch color color-mix light-dark var env calc min max clamp abs sign round mod rem " +
    "linear-gradient radial-gradient conic-gradient repeating-linear-gradient repeating-radial-gradient repeating-conic-gradient " +
    "cubic-bezier steps linear blur brightness contrast drop-shadow grayscale hue-rotate invert opacity saturate sepia"
  ).split(" "),
);

const hasOneTo =
  (limit: number): Predicate =>
  (value) =>
    value.trim() !== "" && !isLongerThan(value, limit);
const isSafeCss =
  (limit: number): Predicate =>
  (value) =>
    hasOneTo(limit)(value) && CSS_VALUE.test(value) && !CSS_COMMENT.test(value) && callsOnlyAllowedFunctions(value);

/** Allows a parenthesis without a function's name, as in calc(1px * (2 + 3)). */
function callsOnlyAllowedFunctions(value: string): boolean {
  const calls = [...value.replace(CSS_STRING, " ").matchAll(CSS_CALL)];
  return calls.every(([, name = ""]) => name === "" || CSS_FUNCTIONS.has(name.toLowerCase()));
}

/** Throws invalid_argument for the first invalid field that the rules of the proto accept. */
export function toBotPatch(changes = create(BotChangesSchema)): BotPatch {
  requireValidChanges(changes);
  // Contains the fields that are set. A message wraps a list, a map or a number, so that it can be unset. An unset number is stored as null.
  const json = toJson(BotChangesSchema, changes, { alwaysEmitImplicit: true }) as Record<string, Scalar | Wrapper>;
  const settings: JsonObject = {};
  const display: JsonObject = {};
  for (const [name, value] of Object.entries(json)) {
    const target = name in BotDisplaySchema.field ? display : settings;
    target[name] = typeof value === "object" ? (value.values ?? value.value ?? null) : value;
  }
  if (Buffer.byteLength(JSON.stringify(display.texts ?? {})) > MAX_TEXTS_BYTES)
    throw invalidArgument("texts must have at most 16 KiB of JSON");
  return { ...settings, display } as BotPatch;
}

function requireValidChanges(changes: BotChanges): void {
  requireValid(
    "model",
    changes.model,
    (value) => value === "" || isModelName(value),
    "look like <provider>:<model_name>, or be empty for the default",
  );
  requireValid("time_zone", changes.timeZone, isTimeZone, "be the IANA name of a time zone, such as Europe/Berlin");
  requireValid("logo_url", changes.logoUrl, isWebUrl, "be an http or https URL, or empty");
  requireValid("consent_link", changes.consentLink, isHttpsUrl, "be an https URL, or empty");
  requireValid("primary_color", changes.primaryColor, (value) => COLOR.test(value), "look like #RRGGBB");
  requireValid("font_family", changes.fontFamily, isSafeCss(MAX_FONT_CHARACTERS), "be a CSS font family");
  // The rules of the proto have whole limits only.
  if (changes.topP?.value === 0) throw invalidArgument("top_p must be above 0");
  for (const range of changes.handoffHours?.values ?? [])
    requireValid("handoff_hours", range, isHoursRange, "be days and times such as mon-fri 09:00-17:30");
  requireValidCssVars(changes.customCssVars?.values ?? {});
  requireValidTexts(changes.texts?.values ?? {});
}

function requireValid(name: string, value: string | undefined, isValid: Predicate, rule: string): void {
  if (value !== undefined && (!isValid(value) || value.includes("\0"))) throw invalidArgument(`${name} must ${rule}`);
}

function requireValidCssVars(values: Readonly<Record<string, string>>): void {
  const isValid = isSafeCss(200);
  for (const [name, value] of Object.entries(values)) {
    if (!CSS_VARIABLE.test(name))
      throw invalidArgument(
        "custom_css_vars: each name must be -- followed by 1 to 100 of the characters A-Z a-z 0-9 _ -",
      );
    if (!isValid(value) || value.includes("\0"))
      throw invalidArgument(
        `custom_css_vars: the value of ${name} must be 1 to 200 characters of plain CSS: words, numbers, colours, quoted text, and functions that calculate or draw but load nothing`,
      );
  }
}

function requireValidTexts(values: Readonly<Record<string, BotTexts>>): void {
  for (const [language, { words }] of Object.entries(values)) {
    if (!LANGUAGE.test(language))
      throw invalidArgument("texts: each language must be a tag in lower case, such as de or pt-pt");
    if (!Object.keys(words).every((key) => WORD.test(key)))
      throw invalidArgument(`texts of ${language}: words must have names of 1 to 40 letters`);
  }
}

/** Refuses offsets such as +02:00, which also create a format: they do not change with daylight saving time. */
function isTimeZone(value: string): boolean {
  if (!/^[A-Za-z]/.test(value)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: value });
    return true;
  } catch {
    return false;
  }
}

const isUrlOf =
  (...protocols: string[]): Predicate =>
  (value) =>
    value === "" || (URL.canParse(value) && protocols.includes(new URL(value).protocol));
const isWebUrl = isUrlOf("http:", "https:");
const isHttpsUrl = isUrlOf("https:");
