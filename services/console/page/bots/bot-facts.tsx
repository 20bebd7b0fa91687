import { useId } from "react";
import { Facts } from "../components/facts.tsx";
import { t } from "../i18n/t.tsx";
import { type BotSettings, LABELS } from "./bot-settings.ts";
import { languageName } from "./language-name.ts";
import { WIDGET_POSITIONS, WIDGET_THEMES } from "./looks.tsx";

/** A bot's settings for members who may not change them. */
export function BotFacts({ settings }: { settings: BotSettings }) {
  return (
    <div className="form">
      <Section
        title={t("What visitors read")}
        facts={[
          [LABELS.name, settings.name],
          [LABELS.welcomeMessage, settings.welcomeMessage],
          [LABELS.quickReplies, settings.quickReplies.join("\n")],
          [LABELS.texts, Object.keys(settings.texts).map(languageName).join(", ") || t("None")],
        ]}
      />
      <Section
        title={t("Looks")}
        facts={[
          [LABELS.primaryColor, settings.primaryColor],
          [LABELS.themeMode, nameOf(settings.themeMode, WIDGET_THEMES)],
          [LABELS.position, nameOf(settings.position, WIDGET_POSITIONS)],
          [LABELS.borderRadius, String(settings.borderRadius)],
          [LABELS.fontFamily, settings.fontFamily],
          [LABELS.logoUrl, settings.logoUrl],
        ]}
      />
      <Section
        title={t("How it answers")}
        facts={[
          [LABELS.systemPrompt, settings.systemPrompt || t("None")],
          [LABELS.model, settings.model || t("Default model")],
          [LABELS.fallback, settings.fallback],
          [LABELS.timeZone, settings.timeZone],
        ]}
      />
    </div>
  );
}

type SectionProps = { title: string; facts: readonly (readonly [name: string, value: string])[] };

function Section({ title, facts }: SectionProps) {
  const id = useId();
  return (
    <section className="panel bot-facts" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <Facts facts={facts} />
    </section>
  );
}

function nameOf(value: string, names: readonly (readonly [value: string, name: string])[]): string {
  return names.find(([each]) => each === value)?.[1] ?? value;
}
