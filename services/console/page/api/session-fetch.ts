import { toConnectError } from "./response-error.ts";
import { waitForSignIn } from "./sign-in-again.ts";

/** Thrown when the session has ended, so that the user must sign in again. */
export class SignedOutError extends Error {
  constructor() {
    super("signed out");
    this.name = "SignedOutError";
  }
}

/** Thrown when no complete response of the console arrives. */
export class NoResponseError extends Error {
  constructor(cause?: unknown) {
    super("no response", { cause });
    this.name = "NoResponseError";
  }
}

export function isSignedOut(error: unknown): boolean {
  return isOrWraps(error, SignedOutError);
}

export function isNoResponse(error: unknown): boolean {
  return isOrWraps(error, NoResponseError);
}

/** Checks the cause too, because Connect wraps the errors of its fetch. */
function isOrWraps(error: unknown, errorClass: typeof SignedOutError | typeof NoResponseError): boolean {
  return error instanceof errorClass || (error instanceof Error && error.cause instanceof errorClass);
}

/** The console refuses POST requests without this header, because other sites cannot set it. */
const HEADERS = { "X-Parley-Console": "1" };
const LOCK = "parley-session";

/**
 * Fetches with the session's cookie. After a 401, renews the session and sends the request once more. Throws SignedOutError if the session
 * has ended and the page cannot ask the user to sign in again, ConnectError if the renewal is refused for another reason, and NoResponseError
 * if no response arrives.
 */
export async function fetchWithSession(path: string, init: RequestInit = {}): Promise<Response> {
  const send = () => fetchResponse(path, { ...init, headers: { ...toRecord(init.headers), ...HEADERS } });
  const response = await send();
  if (response.status !== 401) return response;
  await renewSession();
  const retried = await send();
  if (retried.status === 401) throw new SignedOutError();
  return retried;
}

/** Refreshes the session. If it has ended, waits until the user has signed in again. Throws like fetchWithSession. */
export async function renewSession(): Promise<void> {
  try {
    await refreshSession();
  } catch (error) {
    if (!isSignedOut(error) || !(await waitForSignIn())) throw error;
  }
}

/**
 * Refreshes the session under a lock that all tabs share. If another tab has just refreshed the session, the console returns that session.
 * Throws SignedOutError if the session has ended, ConnectError if the response reports another error, such as an identity provider that does
 * not respond, and NoResponseError if no response arrives.
 */
async function refreshSession(): Promise<void> {
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

/**
 * Sends a POST request under a lock that all tabs share. Without the lock, a refresh in another tab could store the session again after the
 * sign-out.
 */
function postInLock(path: string): Promise<Response> {
  return navigator.locks.request(LOCK, () => fetchResponse(path, { method: "POST", headers: HEADERS }));
}

/** Throws NoResponseError if the connection breaks before the body's end. */
export function readText(response: Response): Promise<string> {
  return response.text().catch(throwNoResponse);
}

/** Throws NoResponseError in place of fetch's TypeError, because a TypeError could also be a programming error. */
function fetchResponse(path: string, init: RequestInit): Promise<Response> {
  return fetch(path, init).catch(throwNoResponse);
}

function throwNoResponse(cause: unknown): never {
  throw new NoResponseError(cause);
}

function toRecord(headers: HeadersInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(headers).entries());
}
