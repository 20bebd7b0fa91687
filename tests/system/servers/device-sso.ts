import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** An identity provider with OAuth's device flow on loopback. It rotates refresh tokens: each is valid once. */
export type DeviceSso = {
  issuer: string;
  clientId: string;
  /** The person's decision on the verification page; undefined if the person has not decided yet. */
  decision: "approve" | "deny" | undefined;
  /** Lifetime of new access tokens, in seconds. */
  lifetimeS: number;
  /** The lifetime that it reports for new device codes, in seconds. The codes do not actually expire. */
  deviceCodeLifetimeS: number;
  /** Whether it accepts requests without responding to them. */
  isSilent: boolean;
  /** How long it takes to respond to a token request. */
  tokenDelayMs: number;
  /** Whether its metadata contains the endpoint that revokes refresh tokens. */
  hasRevocationEndpoint: boolean;
  /** The forms of the token requests, in order. */
  tokenRequests: URLSearchParams[];
  /** Revokes all refresh tokens, as an administrator of the identity provider can. */
  revokeAllRefreshTokens(): void;
  isActive(refreshToken: string): boolean;
  countActiveRefreshTokens(): number;
  stop(): Promise<void>;
};

/** Starts the identity provider. `signAccessToken` returns a signed access token with the given lifetime in seconds. */
export async function startDeviceSso(signAccessToken: (lifetimeS: number) => Promise<string>): Promise<DeviceSso> {
  const refreshTokens = new Set<string>();
  const deviceCodes = new Set<string>();
  const issueTokens = async () => {
    const refreshToken = randomUUID();
    refreshTokens.add(refreshToken);
    const accessToken = await signAccessToken(sso.lifetimeS);
    const tokens = { access_token: accessToken, token_type: "Bearer", refresh_token: refreshToken };
    return { status: 200, body: { ...tokens, expires_in: sso.lifetimeS } };
  };
  const refuse = (error: string) => ({ status: 400, body: { error } });

  const respondToTokenRequest = async (form: URLSearchParams) => {
    sso.tokenRequests.push(form);
    await sleep(sso.tokenDelayMs);
    if (form.get("client_id") !== sso.clientId) return { status: 401, body: { error: "invalid_client" } };
    if (form.get("grant_type") === "refresh_token")
      return refreshTokens.delete(form.get("refresh_token") ?? "") ? issueTokens() : refuse("invalid_grant");
    if (!deviceCodes.has(form.get("device_code") ?? "")) return refuse("invalid_grant");
    if (sso.decision === undefined) return refuse("authorization_pending");
    return sso.decision === "approve" ? issueTokens() : refuse("access_denied");
  };

  const respond = async (request: IncomingMessage): Promise<{ status: number; body: object }> => {
    const form = new URLSearchParams(await text(request));
    switch (request.url) {
      case "/.well-known/openid-configuration":
        return {
          status: 200,
          body: {
            issuer: sso.issuer,
            device_authorization_endpoint: `${sso.issuer}/device`,
            token_endpoint: `${sso.issuer}/token`,
            ...(sso.hasRevocationEndpoint && { revocation_endpoint: `${sso.issuer}/revoke` }),
          },
        };
      case "/device": {
        const deviceCode = randomUUID();
        deviceCodes.add(deviceCode);
        const codes = { device_code: deviceCode, user_code: "WDJB-MJHT", verification_uri: `${sso.issuer}/verify` };
        return { status: 200, body: { ...codes, expires_in: sso.deviceCodeLifetimeS, interval: 1 } };
      }
      case "/token":
        return respondToTokenRequest(form);
      case "/revoke":
        refreshTokens.delete(form.get("token") ?? "");
        return { status: 200, body: {} };
      default:
        return { status: 404, body: {} };
    }
  };

  const server = createServer(async (request, response) => {
    if (sso.isSilent) return;
    const { status, body } = await respond(request);
    response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sso: DeviceSso = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: "parley-cli",
    decision: undefined,
    lifetimeS: 3_600,
    deviceCodeLifetimeS: 60,
    isSilent: false,
    tokenDelayMs: 0,
    hasRevocationEndpoint: true,
    tokenRequests: [],
    revokeAllRefreshTokens: () => refreshTokens.clear(),
    isActive: (refreshToken) => refreshTokens.has(refreshToken),
    countActiveRefreshTokens: () => refreshTokens.size,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return sso;
}
