import {
  allowInsecureRequests,
  type Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  initiateDeviceAuthorization,
  None,
  pollDeviceAuthorizationGrant,
  ResponseBodyError,
  refreshTokenGrant,
  type TokenEndpointResponse,
  tokenRevocation,
} from "openid-client";
import { CliError } from "../errors.ts";
import { type Login, readLogin, replaceLogin, withLoginLock } from "./login-file.ts";

/** An access token that expires within this time is refreshed, so that it stays valid during a command's calls. */
const REFRESH_BEFORE_S = 120;
/** The deadline of each request to the identity provider. */
const TIMEOUT_S = 10;
/** The assumed lifetime of an access token if the identity provider does not return its lifetime. */
const DEFAULT_LIFETIME_S = 300;

/** Messages by the error code of RFC 6749 or RFC 8628. */
const MESSAGES = {
  access_denied: "the sign-in was refused",
  expired_token: "the sign-in took too long: run parley login again",
  invalid_grant: "your login has ended: sign in again with parley login",
  invalid_client: "the identity provider does not know this client: check --client-id",
  unauthorized_client: "the identity provider does not permit the device flow to this client: enable it there",
} as const;

export type SignInRequest = Pick<Login, "issuer" | "clientId" | "parameters">;

/** The page to open and the code to enter there. */
export type Prompt = { url: string; code: string };

/**
 * Signs in with OAuth's device flow (RFC 8628). Calls `showPrompt`, then waits until the user has signed in or the code has expired. Calls
 * `notice` if the identity provider fails meanwhile.
 */
export async function signIn(
  request: SignInRequest,
  showPrompt: (prompt: Prompt) => void,
  notice: (line: string) => void,
): Promise<Login> {
  const client = await discover(request);
  try {
    const device = await initiateDeviceAuthorization(client, request.parameters);
    const { verification_uri_complete: complete, verification_uri: plain, user_code: code } = device;
    const url = complete ?? plain;
    if (!/^https?:\/\//.test(url)) throw new CliError("the identity provider returned an invalid verification address");
    showPrompt({ url, code });
    client[customFetch] = createPollFetch(() =>
      notice(`a request to ${request.issuer} failed: trying again until the code expires …`),
    );
    const expiry = AbortSignal.timeout(device.expires_in * 1_000);
    const tokens = pollDeviceAuthorizationGrant(client, device, request.parameters, { signal: expiry });
    return toLogin(request, await tokens.catch((error) => throwPollError(error, expiry)));
  } catch (error) {
    throw toCliError(error, request.issuer);
  }
}

/**
 * Returns a fetch that turns a lost response or a server error into the error slow_down, so that polling continues at a longer interval until
 * the code expires (RFC 8628, section 3.5).
 */
function createPollFetch(onFault: () => void): CustomFetch {
  return async (url, options) => {
    const response = await fetchComplete(url, options).catch(() => undefined);
    if (response !== undefined && response.status < 500) return response;
    onFault();
    const retryAfter = response?.headers.get("retry-after") ?? "0";
    return Response.json({ error: "slow_down" }, { status: 400, headers: { "retry-after": retryAfter } });
  };
}

/** Fetches a response with its whole body. Rejects if the connection breaks after the headers. */
async function fetchComplete(...[url, options]: Parameters<CustomFetch>): Promise<Response> {
  const response = await fetch(url, { ...options, body: options.body ?? null });
  await response.clone().arrayBuffer();
  return response;
}

function throwPollError(cause: unknown, expiry: AbortSignal): never {
  if (expiry.aborted) throw new CliError(MESSAGES.expired_token, { cause });
  if (cause instanceof ResponseBodyError && cause.error === "invalid_grant")
    throw new CliError("the identity provider no longer accepts the code: run parley login again", { cause });
  throw cause;
}

/**
 * Returns the access token of the login file, refreshed if it expires soon. Returns undefined if there is no file. If the refresh fails,
 * returns the stored token until it expires, unless the identity provider refused the login. Calls `notice` if the refresh waits for another command.
 */
export async function readAccessToken(path: string, notice: (line: string) => void): Promise<string | undefined> {
  const login = await readLogin(path);
  if (login === undefined || !needsRefresh(login)) return login?.accessToken;
  const refreshed = withLoginLock(path, notice, async () => {
    // Another command may have refreshed or deleted the login meanwhile.
    const current = await readLogin(path);
    return current === undefined || !needsRefresh(current) ? current : replaceLogin(path, () => refresh(current));
  });
  const usable = await refreshed.catch(async (error: Error) => {
    const stored = await readLogin(path);
    // ResponseBodyError: the identity provider refused the login.
    if (error.cause instanceof ResponseBodyError || stored === undefined || isExpired(stored)) throw error;
    return stored;
  });
  return usable?.accessToken;
}

async function refresh(login: Login): Promise<Login> {
  const { refreshToken } = login;
  if (refreshToken === undefined) throw new CliError(MESSAGES.invalid_grant);
  const client = await discover(login);
  try {
    // If the response has no refresh token, the current one stays valid (RFC 6749, section 6).
    return { refreshToken, ...toLogin(login, await refreshTokenGrant(client, refreshToken, login.parameters)) };
  } catch (error) {
    throw toCliError(error, login.issuer);
  }
}

/** Revokes the login's refresh token at the identity provider. Returns false if the login has none. Throws CliError if the token cannot be revoked. */
export async function revoke(login: Login): Promise<boolean> {
  if (login.refreshToken === undefined) return false;
  const client = await discover(login);
  if (client.serverMetadata().revocation_endpoint === undefined)
    throw new CliError("the identity provider has no endpoint for revocation");
  try {
    await tokenRevocation(client, login.refreshToken);
    return true;
  } catch (error) {
    throw toCliError(error, login.issuer);
  }
}

/** Without a refresh token, the access token is used until it expires. */
function needsRefresh(login: Login): boolean {
  return isExpired(login, login.refreshToken === undefined ? 0 : REFRESH_BEFORE_S);
}

function isExpired({ expiresAt }: Login, marginS = 0): boolean {
  return Date.now() / 1_000 > expiresAt - marginS;
}

async function discover({ issuer, clientId }: Pick<Login, "issuer" | "clientId">): Promise<Configuration> {
  const url = new URL(issuer);
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].includes(url.hostname);
  if (url.protocol !== "https:" && !isLocal) throw new CliError(`the issuer must be an https URL, not ${issuer}`);
  try {
    return await discovery(url, clientId, undefined, None(), {
      timeout: TIMEOUT_S,
      ...(isLocal && { execute: [allowInsecureRequests] }),
    });
  } catch (error) {
    throw toCliError(error, issuer);
  }
}

function toLogin(request: SignInRequest, response: TokenEndpointResponse): Login {
  const { issuer, clientId, parameters } = request;
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: lifetime } = response;
  const expiresAt = Math.floor(Date.now() / 1_000) + (lifetime ?? DEFAULT_LIFETIME_S);
  return { issuer, clientId, parameters, accessToken, ...(refreshToken && { refreshToken }), expiresAt };
}

function toCliError(error: unknown, issuer: string): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof ResponseBodyError) {
    const message = isKnown(error.error)
      ? MESSAGES[error.error]
      : `the identity provider refused the request (${error.error})`;
    return new CliError(message, { cause: error });
  }
  const { code } = (error ?? {}) as { code?: string };
  if (code === "OAUTH_TIMEOUT")
    return new CliError(`${issuer} did not respond within ${TIMEOUT_S} s: try again`, { cause: error });
  const reason = error instanceof Error ? error.message : String(error);
  return new CliError(`the request to ${issuer} failed (${reason}): check the issuer's URL and the network`, {
    cause: error,
  });
}

function isKnown(code: string): code is keyof typeof MESSAGES {
  return Object.hasOwn(MESSAGES, code);
}
