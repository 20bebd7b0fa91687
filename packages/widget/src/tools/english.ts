import { SOURCES_ENGLISH } from "../sources/english.ts";

/** The texts of the controls below a reply. The build writes their translations into files of their own. */
export const TOOLS_ENGLISH = {
  copy: "Copy",
  copied: "Copied",
  up: "Good answer",
  down: "Bad answer",
  reason: "What was wrong? (optional)",
  reasonSent: "Thank you for your feedback.",
  ratingFailed: "The rating could not be saved.",
  ...SOURCES_ENGLISH,
} as const;
