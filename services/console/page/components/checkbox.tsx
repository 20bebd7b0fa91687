import type { ReactNode } from "react";
import { useId } from "react";

type CheckboxProps = { label: ReactNode; hint?: string; isChecked: boolean; onChange: (isChecked: boolean) => void };

export function Checkbox({ label, hint, isChecked, onChange }: CheckboxProps) {
  const id = useId();
  return (
    <div className="check">
      <input
        id={id}
        type="checkbox"
        className="checkbox"
        aria-describedby={hint && `${id}-hint`}
        checked={isChecked}
        onChange={({ target }) => onChange(target.checked)}
      />
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
    </div>
  );
}
