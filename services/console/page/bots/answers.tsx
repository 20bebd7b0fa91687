import { SelectField, TextArea, TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";
import { LABELS, type SectionProps } from "./bot-settings.ts";

/** `models` are the models that the workspace's plan permits owners to choose. "<provider>:*" stands for every model of the provider. */
export function Answers({ draft, change, models }: SectionProps & { models: readonly string[] }) {
  const textProps = (name: "model" | "systemPrompt" | "fallback") => ({
    value: draft[name],
    onChange: ({ target }: { target: { value: string } }) => change(name, target.value),
  });
  return (
    <section className="panel" aria-labelledby="answers">
      <h2 id="answers">{t("How it answers")}</h2>
      <TextArea
        label={LABELS.systemPrompt}
        hint={t("What the bot should do, how it should sound, and what it must not do.")}
        rows={6}
        maxLength={16_000}
        {...textProps("systemPrompt")}
      />
      <TextField
        label={LABELS.model}
        hint={describeModels(models)}
        maxLength={200}
        spellCheck={false}
        list="models"
        {...textProps("model")}
      />
      <datalist id="models">
        {models.filter(isModelName).map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      <TextArea label={LABELS.fallback} rows={2} required maxLength={2_000} {...textProps("fallback")} />
      <SelectField
        label={LABELS.timeZone}
        hint={t("Where your business is. The bot reads “today” and “now” in this time zone.")}
        options={
          TIME_ZONES.includes(draft.timeZone)
            ? TIME_ZONE_OPTIONS
            : [[draft.timeZone, draft.timeZone], ...TIME_ZONE_OPTIONS]
        }
        value={draft.timeZone}
        onChange={(timeZone) => change("timeZone", timeZone)}
      />
    </section>
  );
}

/** The list may lack UTC, and aliases such as Europe/Kyiv, which a bot can also have. */
const TIME_ZONES = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];
const TIME_ZONE_OPTIONS = TIME_ZONES.map((name) => [name, name] as const);

const isModelName = (entry: string) => !entry.endsWith("*");

function describeModel(entry: string): string {
  if (isModelName(entry)) return entry;
  return t("{prefix} and the name of any of its models", { prefix: entry.slice(0, -1) });
}

function describeModels(models: readonly string[]): string {
  return models.length === 0
    ? t("Leave empty for the default model, the only one in your plan.")
    : t("Leave empty for the default model, or enter a model of your plan: {models}.", {
        models: models.map(describeModel).join(", "),
      });
}
