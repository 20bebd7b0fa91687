import { TextArea, TextField } from "../components/field.tsx";
import { LABELS, type SectionProps } from "./bot-settings.ts";

/** `models` are the models that the workspace's plan permits owners to choose. "<provider>:*" stands for every model of the provider. */
export function Answers({ draft, change, models }: SectionProps & { models: readonly string[] }) {
  const textProps = (name: "model" | "systemPrompt" | "fallback") => ({
    value: draft[name],
    onChange: ({ target }: { target: { value: string } }) => change(name, target.value),
  });
  return (
    <section className="panel" aria-labelledby="answers">
      <h2 id="answers">How it answers</h2>
      <TextArea
        label={LABELS.systemPrompt}
        hint="What the bot should do, how it should sound, and what it must not do."
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
    </section>
  );
}

const isModelName = (entry: string) => !entry.endsWith("*");

function describeModels(models: readonly string[]): string {
  return models.length === 0
    ? "Leave empty for the default model, the only one in your plan."
    : `Leave empty for the default model, or enter a model of your plan: ${models.join(", ")}.`;
}
