import { invalidArgument, isLongerThan } from "@parley/service-kit";

const MAX_TEXT_CHARACTERS = 200;

/** Returns a field's text without the white space around it. Throws invalid_argument if it is blank, too long or contains NUL. */
export function requireText(field: string, text: string): string {
  const trimmed = text.trim();
  if (trimmed === "" || isLongerThan(trimmed, MAX_TEXT_CHARACTERS) || trimmed.includes("\0"))
    throw invalidArgument(
      `${field} must have 1 to ${MAX_TEXT_CHARACTERS} characters, not only white space, and no NUL`,
    );
  return trimmed;
}
