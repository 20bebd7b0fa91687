import { DEVELOPMENT_ROLES, ensureIssuer, type TokenTerms } from "@parley/cli";
import type { Config } from "./config.ts";
import type { Ports } from "./processes/ports.ts";

export type Tokens = {
  /** The claims for `parley token`; null with an identity provider. */
  terms: TokenTerms | null;
  /** The services' variables for checking tokens; empty with an identity provider, whose variables they inherit. */
  environment: Readonly<Record<string, string>>;
};

/** Selects the token issuer: the identity provider from the environment, or else a development issuer with its key in DATA_DIR. */
export async function chooseIssuer({ hasSso, workspaceClaim, dataDir }: Config, ports: Ports): Promise<Tokens> {
  if (hasSso) return { terms: null, environment: {} };
  // The address of the development sign-in, which signs with the same key.
  const terms = { issuer: `http://localhost:${ports.sso}`, audience: "parley", workspaceClaim };
  const jwksUrl = await ensureIssuer(dataDir);
  return {
    terms,
    environment: {
      JWT_ISSUER: terms.issuer,
      JWT_AUDIENCE: terms.audience,
      JWKS_URL: jwksUrl,
      ...DEVELOPMENT_ROLES,
    },
  };
}
