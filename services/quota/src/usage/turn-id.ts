import { invalid, isUuid } from "@parley/service-kit";

/** Throws invalid_argument unless `text` is a UUID. */
export function requireTurnId(text: string): string {
  if (!isUuid(text)) throw invalid("turn_id must be a UUID");
  return text.toLowerCase();
}
