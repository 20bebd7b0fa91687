import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";
import { Icon } from "./icon.tsx";

type Announcement = { id: number; text: string; isError: boolean };
type Announce = (text: string, options?: { isError?: boolean }) => void;

const SHOWN_MS = 5_000;
const Context = createContext<Announce>(() => undefined);

/** Returns a function that shows a short message, which screen readers announce. */
export function useAnnounce(): Announce {
  return useContext(Context);
}

export function Announcements({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Announcement | undefined>();
  const announce = useCallback<Announce>((text, { isError = false } = {}) => {
    setShown({ id: Date.now(), text, isError });
  }, []);
  useEffect(() => {
    if (shown === undefined) return undefined;
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
          </p>
        )}
      </div>
    </Context>
  );
}
