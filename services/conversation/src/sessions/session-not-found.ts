import { notFound } from "@parley/service-kit";

/** The one answer for a session that is missing, erased or another workspace's. */
export function sessionNotFound() {
  return notFound("session_not_found", "no such session");
}
