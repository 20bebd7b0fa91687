import { useEffect, useRef, useState } from "react";
import { Button } from "../components/button.tsx";
import { TextField } from "../components/field.tsx";
import { focusNeighbour } from "../components/focus-neighbour.ts";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import type { Value } from "./parameters.ts";

type ValuesProps = {
  values: readonly Value[];
  /** The names in the address, which cannot be changed or removed here. */
  fixedNames: readonly string[];
  onChange: (values: Value[]) => void;
};

/** The inputs for the values that the bot fills in. */
export function Values({ values, fixedNames, onChange }: ValuesProps) {
  const list = useRef<HTMLFieldSetElement>(null);
  const [hasAdded, setHasAdded] = useState(false);
  useEffect(() => {
    if (hasAdded) list.current?.querySelector<HTMLInputElement>(".tool-value:last-of-type input")?.focus();
    setHasAdded(false);
  }, [hasAdded]);
  const change = (index: number, changed: Partial<Value>) =>
    onChange(values.map((each, at) => (at === index ? { ...each, ...changed } : each)));
  const remove = (index: number, row: HTMLElement | null) => {
    if (index === values.length - 1) focusNeighbour(row);
    onChange(values.filter((_, at) => at !== index));
  };
  return (
    <fieldset ref={list} className="tool-values">
      <legend>{t("What the bot fills in")}</legend>
      {values.map(({ name, description }, index) => (
        // The names are edited, so only their position identifies them.
        <div key={index} className="tool-value">
          <TextField
            label={t("Name of value {number}", { number: index + 1 })}
            required
            readOnly={fixedNames.includes(name)}
            // The service permits no other names (packages/bot-rules/src/tools/model-schema.ts).
            pattern="[A-Za-z0-9_.\-]{1,64}"
            formatError={t("Use only the letters a to z, digits, hyphens, dots and _.")}
            maxLength={64}
            spellCheck={false}
            value={name}
            onChange={({ target }) => change(index, { name: target.value })}
          />
          <TextField
            label={t("Meaning of value {number}", { number: index + 1 })}
            placeholder={t("The number of the order")}
            required
            // The service limits only the length of all values together.
            maxLength={500}
            value={description}
            onChange={({ target }) => change(index, { description: target.value })}
          />
          {!fixedNames.includes(name) && (
            <Button
              className="icon-button"
              aria-label={t("Remove value {number}", { number: index + 1 })}
              onClick={({ currentTarget }) => remove(index, currentTarget.parentElement)}
            >
              <Icon name="trash" />
            </Button>
          )}
        </div>
      ))}
      <Button
        className="button small"
        onClick={() => {
          onChange([...values, { name: "", description: "" }]);
          setHasAdded(true);
        }}
      >
        <Icon name="plus" />
        {t("Add a value")}
      </Button>
    </fieldset>
  );
}
