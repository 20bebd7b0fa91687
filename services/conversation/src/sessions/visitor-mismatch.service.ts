import { type Database, ServiceError } from "@parley/service-kit";
import { hasOtherVisitor, type SessionRequest } from "./session-visitor.store.ts";

/**
 * Throws visitor_mismatch if the request has a verified visitor, and the session an unverified one with another id. Called before a request is
 * refused because its session, turn or message was not found.
 */
export async function refuseVisitorMismatch(database: Database, request: SessionRequest): Promise<void> {
  if (request.visitorVerified && (await hasOtherVisitor(database, request)))
    throw new ServiceError("failed_precondition", "visitor_mismatch", "the session has another visitor");
}
