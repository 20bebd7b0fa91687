import * as AlertDialog from "@radix-ui/react-alert-dialog";
import { useEffect, useSyncExternalStore } from "react";
import { SIGNED_IN_CHANNEL, sessionKey, useSession } from "../api/session.ts";
import { continueRequests, isWaiting, mountDialog } from "../api/sign-in-again.ts";
import { useFocusReturn } from "./dialogs.tsx";

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
    <AlertDialog.Root open={isOpen}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className="overlay" />
        <AlertDialog.Content className="modal narrow" {...focusReturn}>
          <div className="modal-header">
            <AlertDialog.Title>Your session has ended</AlertDialog.Title>
          </div>
          <AlertDialog.Description className="modal-description">
            Sign in again in a new window. This page keeps what you typed, and continues where you were.
          </AlertDialog.Description>
          <div className="modal-actions">
            <AlertDialog.Cancel className="button" onClick={signInHere}>
              Sign in here and lose changes
            </AlertDialog.Cancel>
            {/* A button and not a link, so that Space activates it as it does every other button of a dialog. */}
            <button
              type="button"
              className="button primary"
              onClick={() => window.open("/auth/sign-in?return_to=/signed-in", "_blank")}
            >
              Sign in
            </button>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
