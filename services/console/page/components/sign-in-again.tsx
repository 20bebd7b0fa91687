import { lazy, Suspense, useEffect, useSyncExternalStore } from "react";
import { SIGNED_IN_CHANNEL, sessionKey, useSession } from "../api/session.ts";
import { continueRequests, isWaiting, mountDialog } from "../api/sign-in-again.ts";

/** Loaded after the first screen, whose size is limited, and before it is needed: a later deployment may remove its file. */
const LazySignInDialog = lazy(async () => ({ default: (await import("./sign-in-dialog.tsx")).SignInDialog }));

/** When the session has ended, lets the user sign in again in another window. Until then, requests wait, and the page stays as it is. */
export function SignInAgain() {
  const key = sessionKey(useSession());
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
  return (
    <Suspense fallback={null}>
      <LazySignInDialog isOpen={isOpen} />
    </Suspense>
  );
}
