import { toConnectError } from "./response-error.ts";

/** Thrown when the session has ended, so that the owner must sign in again. */
export class SignedOutError extends Error {
  constructor() {
    super("signed out");
    this.name = "SignedOutError";
  }
}

/** Whether an error reports the end of the session. Connect wraps the errors of its fetch. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof SignedOutError || (error instanceof Error && error.cause instanceof SignedOutError);
}

/** The console refuses POST requests without this header, because other sites cannot set it. */
const HEADERS = { "X-Parley-Console": "1" };
const LOCK = "parley-session";

/**
 * Fetches with the session's cookie. After a 401, refreshes the session and sends the request once more. Throws SignedOutError if the session
 * has ended, ConnectError if the refresh is refused for another reason, and `fetch`'s TypeError if no response arrives.
 */
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
 * Refreshes the session, one tab at a time. If another tab has just refreshed it, the backend returns that session. Throws SignedOutError if
 * the session has ended, ConnectError if the response reports another error, such as an identity provider that does not respond, and `fetch`'s
 * TypeError if no response arrives.
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

/** Sends a POST request, one tab at a time. Without the lock, a refresh in another tab could store the session again after the sign-out. */
function postInLock(path: string): Promise<Response> {
  return navigator.locks.request(LOCK, () => fetch(path, { method: "POST", headers: HEADERS }));
}

function toRecord(headers: HeadersInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(headers).entries());
}
