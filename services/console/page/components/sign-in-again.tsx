import * as Dialog from "@radix-ui/react-dialog";
import { useEffect, useSyncExternalStore } from "react";
import { SIGNED_IN_CHANNEL, sessionKey, useSession } from "../api/session.ts";
import { continueRequests, isWaiting, mountDialog } from "../api/sign-in-again.ts";
import { t } from "../i18n/t.tsx";
import { useFocusReturn } from "./focus-return.ts";

const keepOpen = (event: Event) => event.preventDefault();

/** When the session has ended, lets the user sign in again in another window. Until then, requests wait, and the page stays as it is. */
export function SignInAgain() {
  const key = sessionKey(useSession());
  const focusReturn = useFocusReturn();
  const isOpen = useSyncExternalStore(mountDialog, isWaiting);
  useEffect(() => {
    const channel = new BroadcastChannel(SIGNED_IN_CHANNEL);
    channel.onmessage = ({ data }: MessageEvent<string>) => {
      // What the page shows belongs to the user who has signed out.
      if (data !== key) location.reload();
      else continueRequests();
    };
    return () => channel.close();
  }, [key]);
  const signInHere = () =>
    location.assign(`/auth/sign-in?return_to=${encodeURIComponent(location.pathname + location.search)}`);
  return (
    <Dialog.Root open={isOpen}>
      <Dialog.Portal>
        <Dialog.Overlay className="overlay" />
        {/* Not an AlertDialog, whose code the first screen does not load otherwise. */}
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
            <button
              type="button"
              className="button primary"
              onClick={() => window.open("/auth/sign-in?return_to=/signed-in", "_blank")}
            >
              {t("Sign in")}
            </button>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
