import { ensureIssuer, type TokenTerms } from "@parley/cli";
import type { Config } from "./config.ts";

export type Tokens = {
  /** The claims for `parley token`; null with single sign-on. */
  terms: TokenTerms | null;
  /** The edge's variables for checking tokens; empty with single sign-on, whose variables the edge inherits. */
  edgeEnvironment: Readonly<Record<string, string>>;
};

/** Selects the token issuer: single sign-on from the environment, or else a development issuer with its key in DATA_DIR. */
export async function chooseIssuer({ hasSso, workspaceClaim, dataDir }: Config): Promise<Tokens> {
  if (hasSso) return { terms: null, edgeEnvironment: {} };
  const terms = { issuer: "parley-development", audience: "parley", workspaceClaim };
  const jwksUrl = await ensureIssuer(dataDir);
  return { terms, edgeEnvironment: { JWT_ISSUER: terms.issuer, JWT_AUDIENCE: terms.audience, JWKS_URL: jwksUrl } };
}
