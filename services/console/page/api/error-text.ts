import { Code, ConnectError } from "@connectrpc/connect";
import { labelOf } from "../components/field-labels.ts";
import { formatExtensions } from "../i18n/extensions.ts";
import { t } from "../i18n/t.tsx";
import { isNoResponse, isSignedOut } from "./session-fetch.ts";

export const FORBIDDEN = t("Your role does not allow this. Ask an owner of the workspace.");
const UNREACHABLE = t("The console cannot be reached. Check your connection, then try again.");
const CODE_MISSING = t("A part of the console could not be loaded. It may have been updated. Reload the page.");
const UNEXPECTED = t("Something went wrong. Try again in a few seconds.");
const UNAVAILABLE = t("The service is not available right now. Try again in a few seconds.");

const TEXTS: Readonly<Record<string, string>> = {
  slug_taken: t("A bot with this short name exists or existed. Choose another."),
  unsupported_logo: t("A logo must be a PNG, JPEG, WebP or GIF image."),
  logo_too_large: t("A logo may have at most 200 KiB, and 1,024 pixels on each side."),
  bot_not_found: t("This bot no longer exists. Choose another one."),
  session_not_found: t("This conversation no longer exists."),
  already_assigned: t("Somebody else has taken this conversation."),
  not_assigned: t("You no longer have this conversation. Take it again to answer."),
  canned_reply_not_found: t("This canned reply no longer exists. Reload the page."),
  too_many_canned_replies: t("A workspace can have at most 200 canned replies. Remove one first."),
  too_many_notes: t("A conversation can have at most 200 notes."),
  tool_not_found: t("This tool no longer exists. Reload the page."),
  rate_limited: t("Too many requests. Try again in a minute."),
  invalid_parameter: t("One of the filters is not valid. Remove it, and search again."),
  key_not_found: t("This key no longer exists. Reload the page."),
  identity_key_not_found: t("This identity key no longer exists. Reload the page."),
  kid_taken: t("The workspace has an identity key with this kid already."),
  too_many_identity_keys: t("A workspace can have at most 4 identity keys. Revoke one first."),
  source_not_found: t("This document no longer exists. Reload the page."),
  source_exists: t("The bot has a document of this name already. Choose another name."),
  source_changed: t("Somebody has changed or removed this document since you opened it. Reload the page."),
  searches_overloaded: t("The workspace has searched a lot. Try again in a minute."),
  case_exists: t("The list has this question already."),
  case_not_found: t("This question is no longer in the list. Reload the page."),
  too_many_cases: t("The list can have at most 200 questions. Remove one first."),
  no_cases: t("The list has no questions. Add one first."),
  pattern_not_found: t("This rule no longer exists. Reload the page."),
  answer_not_found: t("This answer no longer exists. Reload the page."),
  pattern_too_large: t("This rule is too large. Split it into two rules, or use fewer and smaller repetitions."),
  moderation_overloaded: t("The rules are being tried too often right now. Try again in a few seconds."),
  patterns_too_large: t(
    "The rules of this bot are too large together. Remove words or a rule, or use fewer and smaller repetitions.",
  ),
  tools_not_permitted: t("Your plan does not include tools of your own. Ask the operator to add the tool."),
  operators_tool: t("The operator has added a tool with this name. Choose another name."),
  too_many_tools: t("A bot can have at most 20 tools. Remove one first."),
  too_many_bots: t("A workspace can have at most 200 bots. Delete one that is not in use."),
  too_many_keys: t("A workspace can have at most 1,000 keys. Revoke those that are not in use."),
  too_many_patterns: t("A bot can have at most 100 rules. Remove one, or add the words to a rule."),
  too_many_answers: t("A bot can have at most 200 answers. Remove one first."),
  knowledge_limit_reached: t(
    "The workspace has as much knowledge as its plan permits. Remove documents, or ask your operator for a larger plan.",
  ),
  too_many_documents: t("Many documents are being read right now. Try again in a minute."),
  unreadable_document: t(
    "The document could not be read. It may be damaged or protected. Save it again, for example as text, and add that file.",
  ),
  unsupported_document: t("Only {files} files can be read.", { files: formatExtensions() }),
  url_refused: t("This address cannot be used. It must begin with https:// and be on the public internet."),
  url_status: t(
    "The page could not be read, because its server answered with an error. Open the address in your browser to check it.",
  ),
  unreachable: t("The address could not be reached. It must be on the public internet."),
  timeout: t("The address took too long to answer. Try again later, or save the page and add the file."),
  too_large: t("The document is too large. Split it into smaller files."),
  payload_too_large: t("This is too large to be sent. Shorten it."),
  too_many_exports: t("Two exports of this workspace are running already. Wait until one of them has ended."),
  robots_refused: t("The website's robots.txt does not permit this address."),
  robots_unavailable: t("The website's robots.txt could not be read, so that no page was read. Try again later."),
  no_pages: t("No page of the website has a text."),
  unexpected_error: t(
    "The page could not be read because of an error in Parley. It is read again at the next refresh.",
  ),
  site_not_found: t("This website was removed. Reload the page."),
  site_removing: t("This website is being removed. Add it again in a minute."),
  too_many_sites: t("A workspace can have at most 50 websites. Remove one first."),
  too_many_redirects: t(
    "The address leads on to other addresses too often. Use the last one, which your browser shows.",
  ),
  model_not_permitted: t("Your plan does not include this model. Choose one of the suggestions."),
  workspace_not_found: t("This workspace does not exist. Ask the operator to create it."),
  webhook_not_found: t("This webhook no longer exists."),
  webhook_disabled: t("The webhook is disabled. Enable it first."),
  webhooks_off: t("Webhooks are off. The operator must set ENCRYPTION_KEY."),
  too_many_webhooks: t("A workspace can have at most 20 webhooks. Delete one first."),
  email_off: t("This installation has no mail server, so no e-mail is sent. The operator can set one with SMTP_URL."),
  recipient_exists: t("The workspace has this address already."),
  recipient_not_found: t("This recipient no longer exists. Reload the page."),
  too_many_recipients: t("A workspace can have at most 10 recipients. Remove one first, or use a mailing list."),
  too_many_emails: t("The workspace has sent 20 messages in the last hour. Try again later."),
  delivery_not_found: t("No event of the last 30 days has such a number."),
  forbidden: FORBIDDEN,
  unavailable: UNAVAILABLE,
};

export function errorText(error: unknown): string {
  if (isSignedOut(error)) return t("Your session has ended. Reload the page to sign in again.");
  if (isNoResponse(error)) return UNREACHABLE;
  if (isCodeMissing(error)) return CODE_MISSING;
  // A bug in the page's own code.
  if (!(error instanceof ConnectError)) return UNEXPECTED;
  const text = TEXTS[parleyCodeOf(error) ?? ""];
  if (text !== undefined) return text;
  switch (error.code) {
    case Code.Unauthenticated:
      return t("Your sign-in was not accepted. Sign out and in again.");
    case Code.PermissionDenied:
      return FORBIDDEN;
    case Code.Unavailable:
    case Code.DeadlineExceeded:
      return UNAVAILABLE;
    case Code.InvalidArgument:
      return toSentence(withLabel(error.rawMessage));
    default:
      return UNEXPECTED;
  }
}

/** Returns the text for one of Parley's codes; undefined if there is none. */
export function codeText(code: string): string | undefined {
  return TEXTS[code];
}

/** Returns Parley's code of an error, such as `bot_not_found`. */
export function parleyCodeOf(error: unknown): string | undefined {
  return error instanceof ConnectError ? (error.metadata.get("parley-code") ?? undefined) : undefined;
}

/** Whether the browser could not load a part of the console's code. `import()` then throws a TypeError that can be recognized only by its message. */
export function isCodeMissing(error: unknown): boolean {
  return (
    error instanceof TypeError && /dynamically imported module|^Importing a module script failed/.test(error.message)
  );
}

/** Replaces the name of the field at the start of a service's message with its label, such as `logo_url` with "Logo". */
function withLabel(message: string): string {
  return (
    message
      .replace(/^[a-z_]+(?= must\b|:)/, (field) => labelOf(field) ?? field)
      // Nobody can type this character.
      .replace(", and no NUL", "")
  );
}

function toSentence(text: string): string {
  const sentence = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
}
