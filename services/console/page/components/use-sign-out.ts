import { errorText } from "../api/error-text.ts";
import { signOut } from "../api/session-fetch.ts";
import { useAnnounce } from "./announcements.tsx";

export function useSignOut(): () => void {
  const announce = useAnnounce();
  return () => void signOut().catch((error: unknown) => announce(errorText(error), { isError: true }));
}
