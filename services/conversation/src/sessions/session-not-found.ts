import { notFound } from "@parley/service-kit";

/** Returns the same error for a session that is missing, deleted or erased, or that belongs to another workspace. */
export function sessionNotFound() {
  return notFound("session_not_found", "no such session");
}
