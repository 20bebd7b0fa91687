import { BotChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { ColorField, SelectField, TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";
import { LABELS, type SectionProps } from "./bot-settings.ts";
import { LogoField } from "./logo-field.tsx";

/** The values of a bot's `themeMode`, with their labels. */
export const WIDGET_THEMES = [
  ["system", t("As the visitor's system")],
  ["light", t("Light")],
  ["dark", t("Dark")],
] as const;
/** The values of a bot's `position`, with their labels. */
export const WIDGET_POSITIONS = [
  ["bottom-right", t("Bottom right")],
  ["bottom-left", t("Bottom left")],
] as const;

export function Looks({ botSlug, draft, change }: SectionProps & { botSlug: string }) {
  return (
    <section className="panel" aria-labelledby="looks">
      <h2 id="looks">{t("Looks")}</h2>
      <div className="columns">
        <ColorField
          label={LABELS.primaryColor}
          value={draft.primaryColor}
          onChange={(value) => change("primaryColor", value)}
        />
        <SelectField
          label={LABELS.themeMode}
          options={WIDGET_THEMES}
          value={draft.themeMode}
          onChange={(value) => change("themeMode", value)}
        />
        <SelectField
          label={LABELS.position}
          options={WIDGET_POSITIONS}
          value={draft.position}
          onChange={(value) => change("position", value)}
        />
        <TextField
          label={LABELS.borderRadius}
          type="number"
          {...limitsOf(BotChangesSchema.field.borderRadius)}
          required
          value={draft.borderRadius}
          onChange={({ target }) => change("borderRadius", Math.trunc(target.valueAsNumber || 0))}
        />
        <TextField
          label={LABELS.fontFamily}
          hint={t(
            "A font of your site, such as Georgia. With system-ui, each visitor sees the usual font of the device.",
          )}
          required
          maxLength={limitsOf(BotChangesSchema.field.fontFamily).max}
          spellCheck={false}
          value={draft.fontFamily}
          onChange={({ target }) => change("fontFamily", target.value)}
        />
        <LogoField botSlug={botSlug} value={draft.logoUrl} onChange={(url) => change("logoUrl", url)} />
      </div>
    </section>
  );
}
