import { HttpError, refused } from "../http/index.ts";
import type { TokenVerifier } from "./visitor-token.ts";

/** The visitor's fields of the calls of the conversation service. Without `visitorMetadata`, that of the request's body applies. */
export type IdentifiedVisitor = { visitorId: string; visitorVerified: boolean; visitorMetadata?: string };

/** Returns the visitor of a request. Throws 401 visitor_token_required or 401 invalid_visitor_token. */
export type IdentifyVisitor = (body: {
  visitor_token?: string | undefined;
  visitor_id?: string | undefined;
}) => Promise<IdentifiedVisitor>;

/** The refusals with the status 401 of the endpoints that take a visitor token. */
export const VISITOR_REFUSED = refused(
  "The key is revoked or does not exist (`invalid_api_key`); the key needs a `visitor_token`, and the request has none (`visitor_token_required`); or the token is expired or invalid (`invalid_visitor_token`).",
  "invalid_api_key",
  "visitor_token_required",
  "invalid_visitor_token",
);

/** The refusal of stop and rating with the status 409. */
export const VISITOR_MISMATCH = refused(
  "The request has a `visitor_token`, and the session another `visitor_id`.",
  "visitor_mismatch",
);

/** Creates the function that finds the visitors of requests with a public key, whose `identity` is `optional` or `required`. */
export function createVisitorIdentifier(verify: TokenVerifier, identity: string): IdentifyVisitor {
  return async ({ visitor_token: token, visitor_id: visitorId = "" }) => {
    if (token === undefined) {
      if (identity === "required") throw new HttpError(401, "visitor_token_required");
      return { visitorId, visitorVerified: false };
    }
    const verified = await verify(token);
    if (typeof verified === "string") throw new HttpError(401, "invalid_visitor_token", {}, { reason: verified });
    const { metadata } = verified;
    return {
      visitorId: verified.visitorId,
      visitorVerified: true,
      ...(metadata && { visitorMetadata: JSON.stringify(metadata) }),
    };
  };
}

/** Returns the visitor whose token, if there is one, is in the header Authorization. Throws as `identifyVisitor`. */
export function identifyBearer(identifyVisitor: IdentifyVisitor, authorization: string | undefined) {
  const [, visitor_token] = BEARER.exec(authorization ?? "") ?? [];
  return identifyVisitor({ visitor_token });
}

const BEARER = /^Bearer +(\S+)$/i;

/**
 * Returns the id of the verified visitor whose token is in the header Authorization. Throws 401 visitor_token_required without a token, whatever the
 * key's identity, and 401 invalid_visitor_token.
 */
export async function requireVerifiedVisitor(
  identifyVisitor: IdentifyVisitor,
  authorization: string | undefined,
): Promise<string> {
  const [, token] = BEARER.exec(authorization ?? "") ?? [];
  if (token === undefined) throw new HttpError(401, "visitor_token_required");
  return (await identifyVisitor({ visitor_token: token })).visitorId;
}
