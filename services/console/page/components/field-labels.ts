import { LABELS } from "../bots/bot-settings.ts";
import { t } from "../i18n/t.tsx";

/** The labels of the fields that owners and operators change. */
const FIELD_LABELS: Readonly<Record<string, string>> = {
  ...LABELS,
  answer: t("Answer"),
  appliesTo: t("Applies to"),
  challenge: t("Challenge"),
  customCssVars: t("CSS variables"),
  domains: t("Domains"),
  enabled: t("Enabled"),
  http: t("Address"),
  includeContent: t("With the texts of messages"),
  identity: t("Visitor token"),
  mcp: t("Address"),
  pattern: t("Pattern"),
  pemOrJwk: t("Public key"),
  questions: t("Questions"),
  reason: t("Reason"),
  secret: t("Secret"),
  slug: t("Short name"),
  thresholds: t("Warning thresholds"),
  types: t("Events"),
  url: t("Address"),
  words: t("Words"),
};

/** Returns the label that the screens give to a field. `field` is a name in a proto, such as `system_prompt`. */
export function labelOf(field: string): string | undefined {
  const camelCase = field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return FIELD_LABELS[camelCase];
}
