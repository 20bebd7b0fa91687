import { BotTextsSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { WIDGET_LANGUAGES } from "@parley/widget/languages";
import { useEffect, useRef, useState } from "react";
import { SelectField, TextArea } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import type { LanguageTexts } from "../components/preview.tsx";
import { getLocale } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { LABELS } from "./bot-settings.ts";
import { languageName } from "./language-name.ts";
import { WidgetWords } from "./widget-words.tsx";

type Texts = Readonly<Record<string, LanguageTexts>>;

type LanguagesProps = {
  values: Texts;
  /** Whether the bot has a text that visitors agree to, which can be translated then. */
  asksConsent: boolean;
  onChange: (values: Texts) => void;
};

/** The bot's texts for visitors who read another language. */
export function Languages({ values, asksConsent, onChange }: LanguagesProps) {
  const section = useRef<HTMLElement>(null);
  const [chosen, setChosen] = useState("");
  const [added, setAdded] = useState("");
  useEffect(() => {
    if (added !== "") section.current?.querySelector<HTMLElement>(`[data-language="${added}"] textarea`)?.focus();
    setAdded("");
  }, [added]);
  const add = () => {
    if (chosen === "") return;
    onChange({
      ...values,
      [chosen]: { welcomeMessage: "", quickReplies: [], words: {}, fallback: "", consentText: "" },
    });
    setAdded(chosen);
    setChosen("");
  };
  const remove = (language: string) => {
    onChange(Object.fromEntries(Object.entries(values).filter(([each]) => each !== language)));
    section.current?.querySelector<HTMLElement>(".inline-form select")?.focus();
  };
  const missing = WIDGET_LANGUAGES.filter((language) => values[language] === undefined)
    .map((language) => [language, languageName(language)] as const)
    .toSorted(([, one], [, other]) => one.localeCompare(other, getLocale()));
  return (
    <section ref={section} className="panel" aria-labelledby="languages">
      <h2 id="languages">{LABELS.texts}</h2>
      <p className="hint">
        {t(
          "Visitors read the widget in the language of your page. Without texts in their language, they read the welcome message and the questions above.",
        )}
      </p>
      {Object.entries(values).map(([language, texts]) => {
        const name = languageName(language);
        const change = (changes: Partial<LanguageTexts>) =>
          onChange({ ...values, [language]: { ...texts, ...changes } });
        return (
          <fieldset key={language} className="quick-replies" data-language={language}>
            <legend>{name}</legend>
            <LanguageText
              label={LABELS.welcomeMessage}
              language={language}
              maxLength={limitsOf(BotTextsSchema.field.welcomeMessage).max}
              value={texts.welcomeMessage}
              onChange={(welcomeMessage) => change({ welcomeMessage })}
            />
            <LanguageText
              label={LABELS.quickReplies}
              hint={t("One question a line, at most ten.")}
              language={language}
              value={texts.quickReplies.join("\n")}
              onChange={(lines) => change({ quickReplies: lines === "" ? [] : lines.split("\n") })}
            />
            <LanguageText
              label={LABELS.fallback}
              language={language}
              maxLength={limitsOf(BotTextsSchema.field.fallback).max}
              value={texts.fallback}
              onChange={(fallback) => change({ fallback })}
            />
            {asksConsent && (
              <LanguageText
                label={LABELS.consentText}
                language={language}
                maxLength={limitsOf(BotTextsSchema.field.consentText).max}
                value={texts.consentText}
                onChange={(consentText) => change({ consentText })}
              />
            )}
            <WidgetWords language={language} name={name} values={texts.words} onChange={(words) => change({ words })} />
            <button type="button" className="button small" onClick={() => remove(language)}>
              <Icon name="trash" />
              {t("Remove {name}", { name })}
            </button>
          </fieldset>
        );
      })}
      <div className="inline-form">
        <SelectField
          label={t("Language")}
          options={[["", t("Choose a language")], ...missing]}
          value={chosen}
          onChange={setChosen}
        />
        <button type="button" className="button" onClick={add}>
          <Icon name="plus" />
          {t("Add texts")}
        </button>
      </div>
    </section>
  );
}

type LanguageTextProps = {
  label: string;
  hint?: string;
  language: string;
  maxLength?: number;
  value: string;
  onChange: (value: string) => void;
};

function LanguageText({ label, language, onChange, ...props }: LanguageTextProps) {
  return (
    <TextArea
      label={t("{label} ({language})", { label, language: languageName(language) })}
      rows={2}
      lang={language}
      onChange={({ target }) => onChange(target.value)}
      {...props}
    />
  );
}
