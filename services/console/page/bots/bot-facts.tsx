import { useId } from "react";
import { Facts } from "../components/facts.tsx";
import { t } from "../i18n/t.tsx";
import { type BotSettings, SECTIONS } from "./bot-settings.ts";
import { languageName } from "./language-name.ts";
import { WIDGET_POSITIONS, WIDGET_THEMES } from "./looks.tsx";

/** A bot's settings for members who may not change them. */
export function BotFacts({ settings }: { settings: BotSettings }) {
  return (
    <div className="form">
      {SECTIONS.map(([title, labels]) => (
        <Section
          key={title}
          title={title}
          facts={Object.entries(labels).map(([name, label]) => [label, describe(settings, name as keyof BotSettings)])}
        />
      ))}
    </div>
  );
}

function describe(settings: BotSettings, name: keyof BotSettings): string {
  const value = settings[name];
  if (typeof value === "boolean") return value ? t("Yes") : t("No");
  switch (name) {
    case "quickReplies":
      return settings.quickReplies.join("\n");
    case "texts":
      return Object.keys(settings.texts).map(languageName).join(", ") || t("None");
    case "themeMode":
      return nameOf(settings.themeMode, WIDGET_THEMES);
    case "position":
      return nameOf(settings.position, WIDGET_POSITIONS);
    case "systemPrompt":
    case "consentText":
      return settings[name] || t("None");
    case "consentVersion":
      // Every bot has a version, also if it asks for no consent.
      return settings.consentText && settings.consentVersion;
    case "model":
      return settings.model || t("Default model");
    default:
      return String(value);
  }
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
