import * as openid from "openid-client";
import { HttpError } from "../http/index.ts";
import type { PendingSignIn } from "./cookies.ts";

export type ProviderOptions = {
  issuer: string;
  clientId: string;
  /** Undefined for a public client. */
  clientSecret: (() => string) | undefined;
  scope: string;
  resource: string | undefined;
  redirectUri: string;
  /** True only for an issuer on this machine. */
  allowsHttp: boolean;
};

export type Tokens = { accessToken: string; refreshToken: string | undefined };

/** Every method throws 503 sign_in_unavailable if the identity provider's discovery document cannot be read. */
export type ProviderClient = {
  /** Returns the URL to send the owner to, and the pending sign-in to store until the callback. */
  begin(returnTo: string): Promise<{ url: URL; pending: PendingSignIn }>;
  /**
   * Exchanges the authorization code of the callback for tokens. Throws 503 sign_in_unavailable if a request to the
   * identity provider gets no response or a 5xx status. Throws 400 sign_in_refused for every other failure.
   */
  complete(callback: URL, pending: PendingSignIn): Promise<Tokens>;
  /** Returns undefined if the identity provider no longer accepts the refresh token. Throws 503 sign_in_unavailable for every other error. */
  refresh(refreshToken: string): Promise<Tokens | undefined>;
  /** Revokes tokens if the identity provider supports that. Throws if a revocation fails, but not if the provider cannot revoke access tokens. */
  revoke(tokens: Tokens): Promise<void>;
};

const TIMEOUT_SECONDS = 10;

export function createProviderClient(options: ProviderOptions): ProviderClient {
  const { clientId, clientSecret, redirectUri } = options;
  const resource: Record<string, string> = options.resource === undefined ? {} : { resource: options.resource };
  let discovered: Promise<openid.Configuration> | undefined;

  /** Fetches the discovery document once. After a failure, the next call tries again. */
  const discover = async () => {
    discovered ??= openid.discovery(
      new URL(options.issuer),
      clientId,
      undefined,
      clientSecret === undefined ? openid.None() : (...request) => openid.ClientSecretBasic(clientSecret())(...request),
      { timeout: TIMEOUT_SECONDS, execute: options.allowsHttp ? [openid.allowInsecureRequests] : [] },
    );
    try {
      return await discovered;
    } catch (cause) {
      discovered = undefined;
      throw unavailable(cause);
    }
  };

  return {
    async begin(returnTo) {
      const config = await discover();
      const codeVerifier = openid.randomPKCECodeVerifier();
      const [state, nonce] = [openid.randomState(), openid.randomNonce()];
      const url = openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: options.scope,
        code_challenge: await openid.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: "S256",
        state,
        nonce,
        ...resource,
      });
      return { url, pending: { state, nonce, codeVerifier, returnTo } };
    },
    async complete(callback, { state, nonce, codeVerifier }) {
      const config = await discover();
      try {
        const checks = {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        };
        const tokens = await openid.authorizationCodeGrant(config, callback, checks, resource);
        return { accessToken: tokens.access_token, refreshToken: tokens.refresh_token };
      } catch (cause) {
        throw isRetryable(cause) ? unavailable(cause) : new HttpError(400, "sign_in_refused", {}, { cause });
      }
    },
    async refresh(refreshToken) {
      const config = await discover();
      try {
        const tokens = await openid.refreshTokenGrant(config, refreshToken, resource);
        // Without rotation the response has no new refresh token.
        return { accessToken: tokens.access_token, refreshToken: tokens.refresh_token ?? refreshToken };
      } catch (cause) {
        if (cause instanceof openid.ResponseBodyError && cause.error === "invalid_grant") return undefined;
        throw unavailable(cause);
      }
    },
    async revoke({ accessToken, refreshToken }) {
      const config = await discover();
      if (config.serverMetadata().revocation_endpoint === undefined) return;
      if (refreshToken !== undefined)
        await openid.tokenRevocation(config, refreshToken, { token_type_hint: "refresh_token" });
      try {
        await openid.tokenRevocation(config, accessToken, { token_type_hint: "access_token" });
      } catch (error) {
        // Many identity providers cannot revoke a JWT. It stays valid until it expires.
        if (!(error instanceof openid.ResponseBodyError && error.error === "unsupported_token_type")) throw error;
      }
    },
  };
}

/** Whether the identity provider did not respond or had a server error, so that a retry may succeed. */
function isRetryable(error: unknown): boolean {
  if (error instanceof openid.ResponseBodyError || error instanceof openid.AuthorizationResponseError) return false;
  if (error instanceof TypeError) return true;
  if (!(error instanceof openid.ClientError)) return false;
  const { code, cause } = error;
  return code === "OAUTH_TIMEOUT" || (cause instanceof Response && cause.status >= 500);
}

function unavailable(cause: unknown): HttpError {
  return new HttpError(503, "sign_in_unavailable", { "retry-after": "5" }, { cause });
}
