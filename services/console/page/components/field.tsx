import { type ComponentProps, type ReactNode, useId } from "react";

type LabelProps = { label: string; hint?: ReactNode };

/** The attributes that connect an input element with its label and its hint. */
type LabelAttributes = { id: string; "aria-describedby": string | undefined };

function Labelled({ label, hint, children }: LabelProps & { children: (attributes: LabelAttributes) => ReactNode }) {
  const id = useId();
  const hintId = `${id}-hint`;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, "aria-describedby": hint ? hintId : undefined })}
      {hint && (
        <p id={hintId} className="hint">
          {hint}
        </p>
      )}
    </div>
  );
}

export function TextField({ label, hint, ...props }: LabelProps & ComponentProps<"input">) {
  return (
    <Labelled label={label} hint={hint}>
      {(attributes) => <input className="input" {...attributes} {...props} />}
    </Labelled>
  );
}

export function TextArea({ label, hint, ...props }: LabelProps & ComponentProps<"textarea">) {
  return (
    <Labelled label={label} hint={hint}>
      {(attributes) => <textarea className="input" {...attributes} {...props} />}
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

export function ColorField({
  label,
  value,
  onChange,
}: LabelProps & { value: string; onChange: (value: string) => void }) {
  return (
    <Labelled label={label}>
      {(attributes) => (
        <div className="color-field">
          <input
            type="color"
            aria-label={`${label}: pick`}
            value={/^#[0-9a-f]{6}$/i.test(value) ? value : "#000000"}
            onChange={({ target }) => onChange(target.value)}
          />
          <input
            className="input"
            {...attributes}
            value={value}
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
