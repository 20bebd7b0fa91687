import type { FindTurnResponse, OpenTurnResponse } from "@parley/rpc/conversation";
import { HttpError } from "../http/index.ts";

/** Throws 403 consent_required if the visitor must agree to the bot's consent first. OpenTurn has opened nothing then. */
export function requireConsent({
  consentRequired,
}: Pick<OpenTurnResponse, "consentRequired"> | Pick<FindTurnResponse, "consentRequired">): void {
  if (consentRequired === undefined) return;
  const { version, text, link } = consentRequired;
  throw new HttpError(403, "consent_required", {}, { fields: { consent: { version, text, link } } });
}
