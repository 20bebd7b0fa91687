import { type ReactNode, type SubmitEvent, useEffect, useRef } from "react";
import { errorText } from "../api/error-text.ts";
import { t } from "../i18n/t.tsx";

type MutationFormProps = {
  /** Runs when the form is submitted. Its last error is shown below the fields. */
  mutation: {
    mutate: (variables: undefined, options: { onSuccess: () => void }) => void;
    isPending: boolean;
    error: Error | null;
  };
  /** The submit button's text. `pendingAction` replaces it while the mutation runs. */
  action: string;
  pendingAction: string;
  isDangerous?: boolean;
  isDisabled?: boolean;
  /** Closes the dialog. Called when the owner cancels, and after a success. */
  onClose: () => void;
  children: ReactNode;
};

export function MutationForm(props: MutationFormProps) {
  const { mutation, action, pendingAction, isDangerous = false, isDisabled = false, onClose, children } = props;
  const focused = useRef<HTMLElement>(null);
  useEffect(() => {
    // Restores the focus: while the mutation ran, the focused element was disabled and lost it.
    if (!mutation.isPending) focused.current?.focus();
  }, [mutation.isPending]);
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    focused.current = document.activeElement as HTMLElement | null;
    // If this component has unmounted, TanStack Query skips the callbacks of `mutate`. It would still run callbacks of useMutation, and they
    // could close another dialog that the owner has opened since.
    mutation.mutate(undefined, { onSuccess: onClose });
  };
  return (
    <form className="form" onSubmit={submit}>
      <fieldset className="form" disabled={mutation.isPending}>
        {children}
      </fieldset>
      {mutation.error && (
        <p className="form-error" role="alert">
          {errorText(mutation.error)}
        </p>
      )}
      <div className="modal-actions">
        <button type="button" className="button" onClick={onClose}>
          {t("Cancel")}
        </button>
        <button
          type="submit"
          className={`button ${isDangerous ? "danger" : "primary"}`}
          disabled={isDisabled || mutation.isPending}
        >
          {mutation.isPending ? pendingAction : action}
        </button>
      </div>
    </form>
  );
}
