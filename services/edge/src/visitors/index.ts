export {
  createVisitorIdentifier,
  type IdentifyVisitor,
  VISITOR_MISMATCH,
  VISITOR_REFUSED,
} from "./identify-visitor.ts";
export { MAX_METADATA_BYTES, MAX_VISITOR_ID_CHARACTERS, type VerifiedVisitor, VisitorToken } from "./visitor-token.ts";
