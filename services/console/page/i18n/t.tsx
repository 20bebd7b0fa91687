import { Fragment, type ReactNode } from "react";
import { type Names, PLACEHOLDER, translate } from "./translate.ts";

export { plural, t } from "./translate.ts";

/** A text with elements in place of the placeholders: `<T text="Paste this before {tag}." tag={<code>…</code>} />`. */
export function T<Text extends string>({
  text,
  ...elements
}: { text: Text } & Readonly<Record<Names<Text>, ReactNode>>) {
  const parts = translate(text).split(PLACEHOLDER);
  // Every second part is the name of a placeholder.
  return parts.map((part, index) => (
    <Fragment key={index}>{index % 2 === 0 ? part : (elements as Readonly<Record<string, ReactNode>>)[part]}</Fragment>
  ));
}
