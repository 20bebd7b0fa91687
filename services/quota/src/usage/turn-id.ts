import { invalidArgument, isUuid } from "@parley/service-kit";

/** Returns a turn id in lower case. Throws invalid_argument unless it is a UUID. */
export function requireTurnId(text: string): string {
  if (!isUuid(text)) throw invalidArgument("turn_id must be a UUID");
  return text.toLowerCase();
}
