import { BotTextsSchema } from "@parley/rpc/conversation";
import { entryLimitsOf } from "@parley/rpc/rules";
import { ENGLISH } from "@parley/widget/english";
import { useEffect, useRef, useState } from "react";
import { SelectField, TextField } from "../components/field.tsx";
import { t } from "../i18n/t.tsx";

type Words = Readonly<Record<string, string>>;

type WidgetWordsProps = { language: string; name: string; values: Words; onChange: (values: Words) => void };

/** The texts of the widget itself that a bot replaces in one language. A text that is left blank is the widget's own again. */
export function WidgetWords({ language, name, values, onChange }: WidgetWordsProps) {
  const section = useRef<HTMLDivElement>(null);
  const [added, setAdded] = useState("");
  useEffect(() => {
    if (added !== "") section.current?.querySelector<HTMLElement>(`[data-word="${added}"]`)?.focus();
    setAdded("");
  }, [added]);
  const add = (key: string) => {
    onChange({ ...values, [key]: "" });
    setAdded(key);
  };
  const english = new Map<string, string>(Object.entries(ENGLISH));
  const others = [...english].filter(([key]) => values[key] === undefined);
  return (
    <div ref={section} className="widget-words">
      {Object.entries(values).map(([key, text]) => (
        <TextField
          key={key}
          label={t("“{text}” ({language})", { text: english.get(key) ?? key, language: name })}
          hint={t("Leave it blank for the widget's own text.")}
          maxLength={entryLimitsOf(BotTextsSchema.field.words).max}
          lang={language}
          data-word={key}
          value={text}
          onChange={({ target }) => onChange({ ...values, [key]: target.value })}
        />
      ))}
      <SelectField
        label={t("Change a text of the widget ({language})", { language: name })}
        options={[["", t("Choose a text")], ...others]}
        value=""
        onChange={add}
      />
    </div>
  );
}
