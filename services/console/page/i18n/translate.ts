import { getLanguage, getTranslation } from "./language.ts";
import { formatNumber } from "./numbers.ts";

// The first arguments of t and plural, and the property `text` of T, must be string literals: texts.ts reads them from the sources.

/** The names of a text's placeholders: "a" | "b" for "{a} of {b}". */
export type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never;
type Value = string | number | bigint;
type Values<Name extends string> = [Name] extends [never] ? [] : [values: Readonly<Record<Name, Value>>];

export const PLACEHOLDER = /\{(\w+)\}/;

/** Returns a text in the user's language, with the values in place of the placeholders. Formats numbers. */
export function t<Text extends string>(text: Text, ...[values]: Values<Names<Text>>): string {
  return fill(translate(text), values);
}

/**
 * Returns the text for a number of things in the user's language. `one` is for one thing, `other` for all other numbers. `{count}` is the number.
 * The catalogues contain the forms of a language by the text `other`.
 */
export function plural<One extends string, Other extends string>(
  count: number,
  one: One,
  other: Other,
  ...[values]: Values<Exclude<Names<One> | Names<Other>, "count">>
): string {
  const forms = getTranslation(other);
  const category = new Intl.PluralRules(getLanguage()).select(count);
  // A browser may have other plural categories for the language than the catalogue.
  const form = typeof forms === "object" ? (forms[category] ?? forms.other) : undefined;
  return fill(form ?? (count === 1 ? one : other), { ...values, count });
}

/** Returns a text in the user's language. */
export function translate(text: string): string {
  const translation = getTranslation(text);
  return typeof translation === "string" ? translation : text;
}

function fill(text: string, values: Readonly<Record<string, Value>> = {}): string {
  return text.replace(new RegExp(PLACEHOLDER, "g"), (placeholder, name: string) => {
    const value = values[name] ?? placeholder;
    return typeof value === "string" ? value : formatNumber(value);
  });
}
