import { toConnectError } from "./response-error.ts";

/** The session has ended: the owner must sign in again. */
export class SignedOutError extends Error {
  constructor() {
    super("signed out");
    this.name = "SignedOutError";
  }
}

const HEADERS = { "X-Parley-Console": "1" };
const LOCK = "parley-session";

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

/**
 * Refreshes the session, one tab at a time. The backend does not refresh again for the next tab: it returns the first tab's session. Throws
 * SignedOutError if the session has ended, and ConnectError if the identity provider or the console does not answer.
 */
export async function refreshSession(): Promise<void> {
  const response = await postInLock("/auth/refresh");
  if (response.status === 401) throw new SignedOutError();
  if (!response.ok) throw await toConnectError(response);
}

/** Ends the session and shows the sign-in page. Throws if the console does not end the session. */
export async function signOut(): Promise<void> {
  const response = await postInLock("/auth/sign-out");
  if (!response.ok) throw await toConnectError(response);
  location.assign("/sign-in?signed_out=1");
}

/** Without the lock, a refresh in another tab could store the session again after the sign-out. */
function postInLock(path: string): Promise<Response> {
  return navigator.locks.request(LOCK, () => fetch(path, { method: "POST", headers: HEADERS }));
}

function toRecord(headers: HeadersInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(headers).entries());
}
