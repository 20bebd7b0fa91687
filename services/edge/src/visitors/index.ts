export {
  createVisitorIdentifier,
  type IdentifyVisitor,
  identifyBearer,
  requireVerifiedVisitor,
  VISITOR_MISMATCH,
  VISITOR_REFUSED,
} from "./identify-visitor.ts";
export {
  createTokenVerifier,
  MAX_METADATA_BYTES,
  MAX_VISITOR_ID_CHARACTERS,
  TOKEN_FAULTS,
  type TokenVerifier,
  type VerifiedVisitor,
  VisitorToken,
} from "./visitor-token.ts";
