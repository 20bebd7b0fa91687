import { BotChangesSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { TextArea, TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";
import { LABELS, type SectionProps } from "./bot-settings.ts";

/** What visitors must agree to before their first message. */
export function Consent({ draft, change }: SectionProps) {
  return (
    <section className="panel" aria-labelledby="consent">
      <h2 id="consent">{t("Consent")}</h2>
      <TextArea
        label={LABELS.consentText}
        hint={t("Visitors must agree to it before their first message. Leave it empty to ask for no consent.")}
        rows={3}
        maxLength={limitsOf(BotChangesSchema.field.consentText).max}
        value={draft.consentText}
        onChange={({ target }) => change("consentText", target.value)}
      />
      {/* A link that blocks saving stays visible. */}
      {(draft.consentText !== "" || draft.consentLink !== "") && (
        <>
          <TextField
            label={LABELS.consentVersion}
            hint={t("Visitors who agreed to another version are asked again.")}
            required={draft.consentText !== ""}
            maxLength={limitsOf(BotChangesSchema.field.consentVersion).max}
            value={draft.consentVersion}
            onChange={({ target }) => change("consentVersion", target.value)}
          />
          <TextField
            label={LABELS.consentLink}
            type="url"
            pattern="https://.*"
            formatError={t("Write the whole address, beginning with https://.")}
            maxLength={limitsOf(BotChangesSchema.field.consentLink).max}
            value={draft.consentLink}
            onChange={({ target }) => change("consentLink", target.value)}
          />
        </>
      )}
    </section>
  );
}
