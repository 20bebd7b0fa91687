import { LABELS } from "../bots/bot-settings.ts";

/** The labels of the fields that owners and operators change. */
const FIELD_LABELS: Readonly<Record<string, string>> = {
  ...LABELS,
  appliesTo: "Applies to",
  customCssVars: "CSS variables",
  domains: "Domains",
  http: "Address",
  mcp: "Address",
  pattern: "Pattern",
  reason: "Reason",
  secret: "Secret",
  slug: "Short name",
  words: "Words",
};

/** Returns the label that the screens give to a field. `field` is a name in a proto, such as `system_prompt`. */
export function labelOf(field: string): string | undefined {
  const camelCase = field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return FIELD_LABELS[camelCase];
}
