import { useEffect, useSyncExternalStore } from "react";
import { SIGNED_IN_CHANNEL, sessionKey, useSession } from "../api/session.ts";
import { continueRequests, isWaiting, mountDialog, openSignIn } from "../api/sign-in-again.ts";
import { t } from "../i18n/t.tsx";
import { useCode } from "./use-code.ts";

const loadDialog = async () => (await import("./sign-in-dialog.tsx")).SignInDialog;

/** When the session has ended, lets the user sign in again in another window. Until then, requests wait, and the page stays as it is. */
export function SignInAgain() {
  const key = sessionKey(useSession());
  // Loaded before it is needed: a later deployment may remove its file.
  const { data: SignInDialog, error } = useCode("sign-in-dialog", loadDialog);
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
  if (SignInDialog) return <SignInDialog isOpen={isOpen} />;
  if (!isOpen || !error) return null;
  return (
    <div className="notice error floating" role="alert">
      <div>
        <p>{t("Your session has ended")}</p>
        <p>{t("Sign in again in a new window. This page keeps what you typed, and continues where you were.")}</p>
        <button type="button" className="button small" onClick={openSignIn}>
          {t("Sign in")}
        </button>
      </div>
    </div>
  );
}
