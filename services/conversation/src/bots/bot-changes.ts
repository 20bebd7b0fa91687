import type { BotChanges } from "@parley/rpc/conversation";
import { invalid } from "@parley/service-kit";
import { isLongerThan } from "../text.ts";
import type { Display } from "./bot-display.ts";

/** The fields of a bot to change. Undefined fields keep their value. */
export type BotPatch = {
  model?: string;
  systemPrompt?: string;
  fallback?: string;
  display: Partial<Display>;
};

type Predicate = (value: string) => boolean;

const MODEL = /^[a-z0-9][a-z0-9_-]*:\S+$/;
const COLOR = /^#[0-9a-fA-F]{6}$/;
const CSS_VARIABLE = /^--[A-Za-z0-9_-]{1,100}$/;
/** Matches characters that could end a CSS declaration or a style element, or load a URL. */
const CSS_UNSAFE = /[;{}<>\\]|\/\*|url\(/i;

const atMost =
  (limit: number): Predicate =>
  (value) =>
    !isLongerThan(value, limit);
const between1And =
  (limit: number): Predicate =>
  (value) =>
    value.trim() !== "" && !isLongerThan(value, limit);
const oneOf =
  (...values: string[]): Predicate =>
  (value) =>
    values.includes(value);
const safeCss =
  (limit: number): Predicate =>
  (value) =>
    between1And(limit)(value) && !CSS_UNSAFE.test(value);

/** Checks changes and returns them as a patch. Throws invalid_argument for the first field that is not valid. */
export function toBotPatch(changes: BotChanges | undefined): BotPatch {
  if (changes === undefined) return { display: {} };
  const { borderRadius, quickReplies, customCssVars } = changes;
  if (borderRadius !== undefined && (borderRadius < 0 || borderRadius > 64))
    throw invalid("border_radius must be from 0 to 64");
  return {
    ...withoutUndefined({
      model: check("model", changes.model, isModel, "look like <provider>:<model_name>, or be empty for the default"),
      systemPrompt: check("system_prompt", changes.systemPrompt, atMost(16_000), "have at most 16,000 characters"),
      fallback: check("fallback", changes.fallback, between1And(2_000), "have 1 to 2,000 characters"),
    }),
    display: withoutUndefined({
      name: check("name", changes.name, between1And(200), "have 1 to 200 characters"),
      welcomeMessage: check("welcome_message", changes.welcomeMessage, atMost(2_000), "have at most 2,000 characters"),
      logoUrl: check(
        "logo_url",
        changes.logoUrl,
        isWebUrl,
        "be an http or https URL of at most 2,000 characters, or empty",
      ),
      primaryColor: check("primary_color", changes.primaryColor, (value) => COLOR.test(value), "look like #RRGGBB"),
      position: check(
        "position",
        changes.position,
        oneOf("bottom-right", "bottom-left"),
        "be bottom-right or bottom-left",
      ),
      themeMode: check("theme_mode", changes.themeMode, oneOf("light", "dark", "system"), "be light, dark or system"),
      fontFamily: check(
        "font_family",
        changes.fontFamily,
        safeCss(200),
        "be a CSS font family of at most 200 characters",
      ),
      borderRadius,
      quickReplies: quickReplies && toQuickReplies(quickReplies.values),
      customCssVars: customCssVars && toCssVars(customCssVars.values),
    }),
  };
}

function check(name: string, value: string | undefined, isValid: Predicate, rule: string): string | undefined {
  if (value === undefined || (isValid(value) && !value.includes("\0"))) return value;
  throw invalid(`${name} must ${rule}`);
}

function toQuickReplies(values: readonly string[]): string[] {
  const isValid = between1And(200);
  if (values.length > 10 || values.some((value) => !isValid(value) || value.includes("\0")))
    throw invalid("quick_replies must have at most 10 entries of 1 to 200 characters");
  return [...values];
}

function toCssVars(values: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(values);
  const isValid = safeCss(200);
  if (entries.length > 50) throw invalid("custom_css_vars must have at most 50 entries");
  for (const [name, value] of entries) {
    if (!CSS_VARIABLE.test(name))
      throw invalid("custom_css_vars must have names that start with -- and contain only A-Z a-z 0-9 _ -");
    if (!isValid(value) || value.includes("\0"))
      throw invalid(
        `custom_css_vars: the value of ${name} must be plain CSS of 1 to 200 characters, without ; { } < > or url()`,
      );
  }
  return Object.fromEntries(entries);
}

function isModel(value: string): boolean {
  return value === "" || (value.length <= 200 && MODEL.test(value));
}

function isWebUrl(value: string): boolean {
  if (value === "") return true;
  return value.length <= 2_000 && URL.canParse(value) && ["http:", "https:"].includes(new URL(value).protocol);
}

type WithoutUndefined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(fields: T): WithoutUndefined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as WithoutUndefined<T>;
}
