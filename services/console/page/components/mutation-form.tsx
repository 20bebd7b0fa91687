import { type ReactNode, type SubmitEvent, useEffect, useRef } from "react";
import { errorText } from "../api/error-text.ts";

type MutationFormProps = {
  /** Runs when the form is submitted. Its last error is shown below the fields. */
  mutation: {
    mutate: (variables: undefined, options: { onSuccess: () => void }) => void;
    isPending: boolean;
    error: Error | null;
  };
  /** The text of the submit button, and its text while the mutation runs. */
  action: string;
  pendingAction: string;
  /** Whether the action cannot be undone. */
  isDangerous?: boolean;
  isDisabled?: boolean;
  /** Closes the dialog. Called when the owner cancels, and after a success. */
  onClose: () => void;
  children: ReactNode;
};

/** The form of a dialog: its fields, the last error, and the buttons to cancel and to submit. */
export function MutationForm(props: MutationFormProps) {
  const { mutation, action, pendingAction, isDangerous = false, isDisabled = false, onClose, children } = props;
  const focused = useRef<HTMLElement>(null);
  useEffect(() => {
    // While the mutation runs, the focused element is disabled and loses the focus.
    if (!mutation.isPending) focused.current?.focus();
  }, [mutation.isPending]);
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    focused.current = document.activeElement as HTMLElement | null;
    // The owner may close this dialog and open another before the mutation succeeds. onClose must not close that one. After this component has
    // unmounted, the query library does not call the callbacks that were passed to `mutate`.
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
          Cancel
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
