import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";
import { t } from "../i18n/t.tsx";
import { focusScreen } from "./focus-neighbour.ts";
import { Icon } from "./icon.tsx";

type Announcement = { id: number; text: string; isError: boolean };
type Announce = (text: string, options?: { isError?: boolean }) => void;

const SHOWN_MS = 5_000;
const Context = createContext<Announce>(() => undefined);

/**
 * Returns a function that shows a short message, which screen readers announce. An error stays until the user closes it or another message
 * replaces it.
 */
export function useAnnounce(): Announce {
  return useContext(Context);
}

export function Announcements({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Announcement | undefined>();
  const announce = useCallback<Announce>((text, { isError = false } = {}) => {
    setShown({ id: Date.now(), text, isError });
  }, []);
  const close = () => {
    focusScreen();
    setShown(undefined);
  };
  useEffect(() => {
    if (shown === undefined || shown.isError) return undefined;
    const timer = setTimeout(() => setShown(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [shown]);
  return (
    <Context value={announce}>
      {children}
      <div className="announcements" role="status" aria-live="polite">
        {shown && (
          <p key={shown.id} className={shown.isError ? "announcement error" : "announcement"}>
            <Icon name={shown.isError ? "alert" : "check"} />
            {shown.text}
            {shown.isError && (
              <button type="button" className="icon-button" aria-label={t("Close the message")} onClick={close}>
                <Icon name="close" />
              </button>
            )}
          </p>
        )}
      </div>
    </Context>
  );
}
