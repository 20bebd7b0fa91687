import * as Dialog from "@radix-ui/react-dialog";
import { openSignIn } from "../api/sign-in-again.ts";
import { t } from "../i18n/t.tsx";
import { useFocusReturn } from "./focus-return.ts";

const keepOpen = (event: Event) => event.preventDefault();

/** Asks the user to sign in again in another window. Nothing in the dialog closes it. */
export function SignInDialog({ isOpen }: { isOpen: boolean }) {
  const focusReturn = useFocusReturn();
  const signInHere = () =>
    location.assign(`/auth/sign-in?return_to=${encodeURIComponent(location.pathname + location.search)}`);
  return (
    <Dialog.Root open={isOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        {/* Not an AlertDialog, which needs a button that cancels. */}
        <Dialog.Content
          role="alertdialog"
          className="modal narrow"
          {...focusReturn}
          onEscapeKeyDown={keepOpen}
          onInteractOutside={keepOpen}
        >
          <div className="modal-header">
            <Dialog.Title>{t("Your session has ended")}</Dialog.Title>
          </div>
          <Dialog.Description className="modal-description">
            {t("Sign in again in a new window. This page keeps what you typed, and continues where you were.")}
          </Dialog.Description>
          <div className="modal-actions">
            <button type="button" className="button" onClick={signInHere}>
              {t("Sign in here and lose changes")}
            </button>
            {/* A button and not a link, so that Space activates it as it does every other button of a dialog. */}
            <button type="button" className="button primary" onClick={openSignIn}>
              {t("Sign in")}
            </button>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
