import { useEffect } from "react";
import { readSessionFromPage, SIGNED_IN_CHANNEL, sessionKey } from "../api/session.ts";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

/** The end of a sign-in in a window of its own. Tells the other windows, and closes this one. */
export function SignedIn() {
  useEffect(() => {
    document.title = `${t("Signed in")} · Parley`;
    const session = readSessionFromPage();
    if (session === undefined) return location.assign("/sign-in?return_to=/signed-in");
    const channel = new BroadcastChannel(SIGNED_IN_CHANNEL);
    channel.postMessage(sessionKey(session));
    channel.close();
    window.close();
    return undefined;
  }, []);
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <span className="brand-mark large" aria-hidden="true">
          <Icon name="check" />
        </span>
        <h1>{t("You are signed in")}</h1>
        <p>{t("Close this window, and continue in the other one.")}</p>
      </div>
    </main>
  );
}
