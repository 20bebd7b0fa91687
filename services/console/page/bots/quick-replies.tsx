import { QuickRepliesSchema } from "@parley/rpc/conversation";
import { entryLimitsOf, limitsOf } from "@parley/rpc/rules";
import { useEffect, useRef, useState } from "react";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import { LABELS } from "./bot-settings.ts";

const { max: MAX_QUICK_REPLIES } = limitsOf(QuickRepliesSchema.field.values);

type QuickRepliesProps = { values: readonly string[]; onChange: (values: string[]) => void };

/** The inputs for the questions that the widget suggests. */
export function QuickReplies({ values, onChange }: QuickRepliesProps) {
  const [hasAdded, setHasAdded] = useState(false);
  const lastInput = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (hasAdded) lastInput.current?.focus();
    setHasAdded(false);
  }, [hasAdded]);
  const add = () => {
    onChange([...values, ""]);
    setHasAdded(true);
  };
  const remove = (index: number, row: HTMLElement | null) => {
    // Only the last row's elements disappear: React reuses those of the other rows for the texts that follow.
    if (index === values.length - 1) focusNeighbour(row);
    onChange(values.filter((_, at) => at !== index));
  };
  const replace = (index: number, text: string) => onChange(values.map((each, at) => (at === index ? text : each)));
  return (
    <fieldset className="quick-replies">
      <legend>{LABELS.quickReplies}</legend>
      {values.map((value, index) => (
        // The texts are edited, so only their position identifies them.
        <div key={index} className="quick-reply">
          <input
            ref={index === values.length - 1 ? lastInput : undefined}
            className="input"
            dir="auto"
            aria-label={t("Suggested question {number}", { number: index + 1 })}
            maxLength={entryLimitsOf(QuickRepliesSchema.field.values).max}
            value={value}
            onChange={({ target }) => replace(index, target.value)}
          />
          <button
            type="button"
            className="icon-button"
            aria-label={t("Remove suggested question {number}", { number: index + 1 })}
            onClick={({ currentTarget }) => remove(index, currentTarget.parentElement)}
          >
            <Icon name="trash" />
          </button>
        </div>
      ))}
      {values.length < MAX_QUICK_REPLIES && (
        <button type="button" className="button small" onClick={add}>
          <Icon name="plus" />
          {t("Add a question")}
        </button>
      )}
    </fieldset>
  );
}
