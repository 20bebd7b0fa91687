import { DEVELOPMENT_ROLE_ENV, ensureIssuer, type IssuerSettings } from "@parley/cli";
import type { Config } from "./config.ts";
import type { Ports } from "./processes/ports.ts";

export type TokenIssuer = {
  /** The settings for `parley token`; null if an identity provider is configured. */
  issuerSettings: IssuerSettings | null;
  /**
   * The services verify access tokens with these variables. Empty if an identity provider is configured, because the services inherit the
   * variables that configure it.
   */
  serviceVariables: Readonly<Record<string, string>>;
};

/** Selects the token issuer: the identity provider from the environment, or else a development issuer with its key in DATA_DIR. */
export async function chooseIssuer(
  { hasIdentityProvider, workspaceClaim, dataDir }: Config,
  ports: Ports,
): Promise<TokenIssuer> {
  if (hasIdentityProvider) return { issuerSettings: null, serviceVariables: {} };
  // `parley token` and the development sign-in use the same key, and the sign-in's address as issuer.
  const issuerSettings = { issuer: `http://localhost:${ports.sso}`, audience: "parley", workspaceClaim };
  const jwksUrl = await ensureIssuer(dataDir);
  return {
    issuerSettings,
    serviceVariables: {
      JWT_ISSUER: issuerSettings.issuer,
      JWT_AUDIENCE: issuerSettings.audience,
      JWKS_URL: jwksUrl,
      ...DEVELOPMENT_ROLE_ENV,
    },
  };
}
