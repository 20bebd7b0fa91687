import { useId } from "react";
import { Facts } from "../components/facts.tsx";
import type { BotSettings } from "./bot-settings.ts";
import { WIDGET_POSITIONS, WIDGET_THEMES } from "./looks.tsx";

/** A bot's settings for members who may not change them. */
export function BotFacts({ settings }: { settings: BotSettings }) {
  return (
    <div className="form">
      <Section
        title="What visitors read"
        facts={[
          ["Name", settings.name],
          ["Welcome message", settings.welcomeMessage],
          ["Suggested questions", settings.quickReplies.join("\n")],
        ]}
      />
      <Section
        title="Looks"
        facts={[
          ["Colour", settings.primaryColor],
          ["Theme", nameOf(settings.themeMode, WIDGET_THEMES)],
          ["Corner of the page", nameOf(settings.position, WIDGET_POSITIONS)],
          ["Rounding of corners, in pixels", String(settings.borderRadius)],
          ["Font", settings.fontFamily],
          ["Logo", settings.logoUrl],
        ]}
      />
      <Section
        title="How it answers"
        facts={[
          ["Instructions", settings.systemPrompt || "None"],
          ["Model", settings.model || "Default model"],
          ["Text in place of a blocked answer", settings.fallback],
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
