import type { ReactNode, SubmitEvent } from "react";
import { errorText } from "../api/error-text.ts";

type MutationFormProps = {
  /** Runs when the form is submitted. Its last error is shown below the fields. */
  mutation: { mutate: () => void; isPending: boolean; error: Error | null };
  /** The text of the submit button, and its text while the mutation runs. */
  action: string;
  pendingAction: string;
  /** Whether the action cannot be undone. */
  isDangerous?: boolean;
  isDisabled?: boolean;
  onCancel: () => void;
  children: ReactNode;
};

/** The form of a dialog: its fields, the last error, and the buttons to cancel and to submit. */
export function MutationForm(props: MutationFormProps) {
  const { mutation, action, pendingAction, isDangerous = false, isDisabled = false, onCancel, children } = props;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    mutation.mutate();
  };
  return (
    <form className="form" onSubmit={submit}>
      {children}
      {mutation.error && (
        <p className="form-error" role="alert">
          {errorText(mutation.error)}
        </p>
      )}
      <div className="modal-actions">
        <button type="button" className="button" onClick={onCancel}>
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
