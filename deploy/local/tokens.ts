import { ensureIssuer, type TokenTerms } from "@parley/cli";
import type { Config } from "./config.ts";

export type Tokens = {
  /** What `parley token` writes into its tokens; null with a single sign-on. */
  terms: TokenTerms | null;
  /** What the edge checks tokens with; nothing with a single sign-on, whose variables it is given anyway. */
  edgeEnvironment: Readonly<Record<string, string>>;
};

/** Who issues access tokens: the single sign-on of the environment, else a development issuer with its key in DATA_DIR. */
export async function chooseIssuer({ hasSso, workspaceClaim, dataDir }: Config): Promise<Tokens> {
  if (hasSso) return { terms: null, edgeEnvironment: {} };
  const terms = { issuer: "parley-development", audience: "parley", workspaceClaim };
  const jwksUrl = await ensureIssuer(dataDir);
  return { terms, edgeEnvironment: { JWT_ISSUER: terms.issuer, JWT_AUDIENCE: terms.audience, JWKS_URL: jwksUrl } };
}
