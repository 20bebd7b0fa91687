import type { OpenTurnRequest } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { type BotConfig, chooseTranslation } from "../bots/index.ts";
import { hasConsent, type SessionRequest } from "../sessions/index.ts";

type ConsentBot = Pick<BotConfig, "consentText" | "consentTexts" | "consentVersion" | "consentLink">;
type Consenting = Pick<OpenTurnRequest, "source" | "consentVersion">;
type Request = Consenting & SessionRequest & Pick<OpenTurnRequest, "acceptLanguage">;

/** What a visitor must agree to: see parley.conversation.v1.Consent. */
export type MissingConsent = { version: string; text: string; link: string };

/** Whether the bot asks the request's visitor for a consent. Members in the playground are not asked. */
const asksConsent = (bot: ConsentBot, source: string) => bot.consentText !== "" && source === "widget";

/** Returns the version of the bot's consent that the request agrees to; undefined if it agrees to none, or to another version. */
export function readGivenConsent(bot: ConsentBot, { source, consentVersion }: Consenting): string | undefined {
  return asksConsent(bot, source) && consentVersion === bot.consentVersion ? consentVersion : undefined;
}

/**
 * Returns what the visitor must agree to before a message is stored or sent to a model; undefined if nothing is missing. Reads the session only if the
 * bot asks for a consent and the request does not give it.
 */
export async function findMissingConsent(
  database: Database,
  bot: ConsentBot,
  request: Request,
): Promise<MissingConsent | undefined> {
  if (!asksConsent(bot, request.source) || readGivenConsent(bot, request) !== undefined) return undefined;
  const { consentVersion: version, consentLink: link } = bot;
  if (await hasConsent(database, request, version)) return undefined;
  return { version, text: chooseTranslation(bot.consentText, bot.consentTexts, request.acceptLanguage), link };
}
