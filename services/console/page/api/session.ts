import { useQuery } from "@tanstack/react-query";

export type Session = { user: string; workspace_id: string; expires_at: string };

/** The session has ended: the owner must sign in again. */
export class SignedOutError extends Error {
  constructor() {
    super("signed out");
    this.name = "SignedOutError";
  }
}

const HEADERS = { "X-Parley-Console": "1" };
const LOCK = "parley-session";

export const SESSION_QUERY = { queryKey: ["session"], queryFn: fetchSession, staleTime: Number.POSITIVE_INFINITY };

async function fetchSession(): Promise<Session> {
  const response = await fetchWithSession("/auth/session");
  if (!response.ok) throw new Error(String(response.status));
  return (await response.json()) as Session;
}

/** Returns the session, which the router loads before it shows a screen. */
export function useSession(): Session {
  const { data } = useQuery(SESSION_QUERY);
  if (data === undefined) throw new SignedOutError();
  return data;
}

/** Fetches with the session's cookie. After a 401 it refreshes the session and tries once more; throws SignedOutError if that fails. */
export async function fetchWithSession(path: string, init: RequestInit = {}): Promise<Response> {
  const send = () => fetch(path, { ...init, headers: { ...toRecord(init.headers), ...HEADERS } });
  const response = await send();
  if (response.status !== 401) return response;
  await refreshSession();
  const retried = await send();
  if (retried.status === 401) throw new SignedOutError();
  return retried;
}

/** Refreshes the session, one tab at a time. The backend does not refresh again for the next tab: it returns the first tab's session. */
export async function refreshSession(): Promise<void> {
  const { ok } = await navigator.locks.request(LOCK, () =>
    fetch("/auth/refresh", { method: "POST", headers: HEADERS }),
  );
  if (!ok) throw new SignedOutError();
}

/** Revokes the session and shows the sign-in page. */
export async function signOut(): Promise<void> {
  await fetch("/auth/sign-out", { method: "POST", headers: HEADERS });
  location.assign("/sign-in?signed_out=1");
}

function toRecord(headers: HeadersInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(headers).entries());
}
