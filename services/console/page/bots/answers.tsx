import { BotChangesSchema, TemperatureSchema, TopPSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { SelectField, TextArea, TextField } from "../components/field.tsx";
import { isolate } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { LABELS, type SectionProps } from "./bot-settings.ts";

/** `models` are the models that the workspace's plan permits owners to choose. "<provider>:*" stands for every model of the provider. */
export function Answers({ draft, change, models }: SectionProps & { models: readonly string[] }) {
  const textProps = (name: "systemPrompt" | "fallback") => ({
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
        maxLength={limitsOf(BotChangesSchema.field.systemPrompt).max}
        {...textProps("systemPrompt")}
      />
      <ModelField models={models} value={draft.model} onChange={(model) => change("model", model)} />
      <ModelSettings draft={draft} change={change} />
      <SelectField
        label={LABELS.showSources}
        hint={t("The bot cites the documents that it answers from. Visitors see them as footnotes and as a list.")}
        options={SOURCES}
        value={draft.showSources}
        onChange={(which) => change("showSources", which)}
      />
      <TextArea
        label={LABELS.fallback}
        rows={2}
        required
        maxLength={limitsOf(BotChangesSchema.field.fallback).max}
        {...textProps("fallback")}
      />
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
      <TextField
        label={LABELS.visitorMessagesPerDay}
        hint={t("How many messages a visitor may send in 24 hours. 0 means no limit.")}
        type="number"
        {...limitsOf(BotChangesSchema.field.visitorMessagesPerDay)}
        required
        value={draft.visitorMessagesPerDay}
        onChange={({ target }) => change("visitorMessagesPerDay", Math.trunc(target.valueAsNumber || 0))}
      />
    </section>
  );
}

const SOURCES = [
  ["off", t("None")],
  ["links", t("Public web pages, with links")],
  ["all", t("All documents: pages with links, others with their names")],
] as const;

const EFFORTS = [
  ["", t("The model’s own")],
  ["none", t("None")],
  ["minimal", t("Minimal")],
  ["low", t("Low")],
  ["medium", t("Medium")],
  ["high", t("High")],
] as const;

function ModelSettings({ draft, change }: SectionProps) {
  const numberProps = (name: "temperature" | "topP") => ({
    type: "number",
    step: "any",
    value: draft[name] ?? "",
    onChange: ({ target }: { target: HTMLInputElement }) =>
      change(name, target.value === "" ? undefined : target.valueAsNumber),
  });
  return (
    <>
      <TextField
        label={LABELS.temperature}
        hint={t("From 0 to 2: the higher, the more varied the answers. Leave empty for the model’s own value.")}
        {...limitsOf(TemperatureSchema.field.value)}
        {...numberProps("temperature")}
      />
      <TextField
        label={LABELS.topP}
        hint={t(
          "Above 0, at most 1. Many models accept only one of temperature and top P. Leave empty for the model’s own value.",
        )}
        {...limitsOf(TopPSchema.field.value)}
        {...numberProps("topP")}
      />
      <TextField
        label={LABELS.maxOutputTokens}
        hint={t("A token is a part of a word. 0 means the limit of the installation.")}
        type="number"
        min={0}
        max={limitsOf(BotChangesSchema.field.maxOutputTokens).max}
        required
        value={draft.maxOutputTokens}
        onChange={({ target }) => change("maxOutputTokens", Math.trunc(target.valueAsNumber || 0))}
      />
      <SelectField
        label={LABELS.reasoningEffort}
        hint={t("Only for models that reason. More effort takes longer and costs more.")}
        options={EFFORTS}
        value={draft.reasoningEffort}
        onChange={(effort) => change("reasoningEffort", effort)}
      />
    </>
  );
}

/** The list may lack UTC, and aliases such as Europe/Kyiv, which a bot can also have. */
const TIME_ZONES = [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone")])];
const TIME_ZONE_OPTIONS = TIME_ZONES.map((name) => [name, name] as const);

const isModelName = (entry: string) => !entry.endsWith("*");

type ModelFieldProps = { models: readonly string[]; value: string; onChange: (model: string) => void };

/** A menu, or a field with suggestions if the plan permits every model of a provider. */
function ModelField({ models, value, onChange }: ModelFieldProps) {
  const suggestions = models.filter(isModelName);
  if (suggestions.length === models.length) {
    // The operator may have set a model that owners may not choose.
    const names = [...new Set([...models, value])].filter(Boolean);
    return (
      <SelectField
        label={LABELS.model}
        {...(models.length === 0 && { hint: t("The default model is the only one in your plan.") })}
        options={[["", t("Default model")], ...names.map((name) => [name, name] as const)]}
        value={value}
        onChange={onChange}
      />
    );
  }
  return (
    <>
      <TextField
        label={LABELS.model}
        hint={t("Leave empty for the default model, or enter a model of your plan: {models}.", {
          models: models.map(describeModel).join(", "),
        })}
        maxLength={limitsOf(BotChangesSchema.field.model).max}
        spellCheck={false}
        list="models"
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <datalist id="models">
        {suggestions.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
    </>
  );
}

function describeModel(entry: string): string {
  if (isModelName(entry)) return isolate(entry);
  return t("{prefix} and the name of any of its models", { prefix: isolate(entry.slice(0, -1)) });
}
