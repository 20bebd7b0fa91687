import {
  type ComponentProps,
  type FocusEvent,
  type InputEvent,
  type InvalidEvent,
  type ReactNode,
  useId,
  useState,
} from "react";
import { t } from "../i18n/t.tsx";

type LabelProps = { label: string; hint?: ReactNode };

/** The attributes that connect an input element with its label, its hint and its error. */
type LabelAttributes = { id: string; "aria-describedby": string | undefined };

type LabelledProps = LabelProps & { error?: string | undefined; children: (attributes: LabelAttributes) => ReactNode };

function Labelled({ label, hint, error, children }: LabelledProps) {
  const id = useId();
  const [hintId, errorId] = [`${id}-hint`, `${id}-error`];
  const describedBy = [error && errorId, hint && hintId].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": describedBy || undefined })}
      {error && (
        <p id={errorId} className="form-error">
          {error}
        </p>
      )}
      {hint && (
        <p id={hintId} className="hint">
          {hint}
        </p>
      )}
    </div>
  );
}

/**
 * Returns an error to show, and the attributes of an input element that keep it current. Shows `formatError` in place of the browser's message,
 * which names only "the requested format". The error appears when the form is submitted or the field loses the focus.
 */
function useFormatError(formatError: string | undefined) {
  const [isWrong, setWrong] = useState(false);
  const hasWrongFormat = ({ validity }: HTMLInputElement) => validity.patternMismatch || validity.typeMismatch;
  if (formatError === undefined) return { error: undefined, attributes: {} };
  return {
    error: isWrong ? formatError : undefined,
    attributes: {
      "aria-invalid": isWrong || undefined,
      onInvalid: (event: InvalidEvent<HTMLInputElement>) => {
        const { currentTarget: field } = event;
        if (!hasWrongFormat(field)) return;
        // Keeps the browser from showing its message, and from focusing the field.
        event.preventDefault();
        setWrong(true);
        if (field.form?.querySelector("input:invalid, textarea:invalid, select:invalid") === field) field.focus();
      },
      onBlur: ({ currentTarget }: FocusEvent<HTMLInputElement>) => setWrong(hasWrongFormat(currentTarget)),
      onInput: ({ currentTarget }: InputEvent<HTMLInputElement>) => {
        if (isWrong) setWrong(hasWrongFormat(currentTarget));
      },
    },
  };
}

type TextFieldProps = LabelProps &
  ComponentProps<"input"> & {
    /** Names what the field accepts. For a field with a `pattern` or a `type` such as `url`. */
    formatError?: string;
  };

export function TextField({ label, hint, formatError, ...props }: TextFieldProps) {
  const { error, attributes } = useFormatError(formatError);
  return (
    <Labelled label={label} hint={hint} error={error}>
      {(labelAttributes) => <input className="input" dir="auto" {...labelAttributes} {...attributes} {...props} />}
    </Labelled>
  );
}

export function TextArea({ label, hint, ...props }: LabelProps & ComponentProps<"textarea">) {
  return (
    <Labelled label={label} hint={hint}>
      {(attributes) => <textarea className="input" dir="auto" {...attributes} {...props} />}
    </Labelled>
  );
}

type SelectProps = LabelProps &
  Omit<ComponentProps<"select">, "onChange"> & {
    options: readonly (readonly [value: string, text: string])[];
    onChange: (value: string) => void;
  };

export function SelectField({ label, hint, options, onChange, ...props }: SelectProps) {
  return (
    <Labelled label={label} hint={hint}>
      {(attributes) => (
        <select className="input" {...attributes} {...props} onChange={({ target }) => onChange(target.value)}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}

type ColorFieldProps = { label: string; value: string; onChange: (value: string) => void };

export function ColorField({ label, value, onChange }: ColorFieldProps) {
  const { error, attributes } = useFormatError(t("Write # and six digits or letters from A to F, such as #2f5fd0."));
  return (
    <Labelled label={label} error={error}>
      {(labelAttributes) => (
        <div className="color-field">
          <input
            type="color"
            aria-label={t("{label}: pick", { label })}
            value={/^#[0-9a-f]{6}$/i.test(value) ? value : "#000000"}
            onChange={({ target }) => onChange(target.value)}
          />
          <input
            className="input"
            dir="ltr"
            {...labelAttributes}
            {...attributes}
            value={value}
            required
            pattern="#[0-9A-Fa-f]{6}"
            maxLength={7}
            spellCheck={false}
            onChange={({ target }) => onChange(target.value)}
          />
        </div>
      )}
    </Labelled>
  );
}
