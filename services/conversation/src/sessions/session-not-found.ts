import { notFound } from "@parley/service-kit";

/** The same error for every session that is missing, deleted, erased or another workspace's. */
export function sessionNotFound() {
  return notFound("session_not_found", "no such session");
}
