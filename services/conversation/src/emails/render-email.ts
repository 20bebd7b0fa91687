import type { EventData } from "./email.ts";
import { directionOf, translate } from "./translate.ts";

/** What an event's message says: English texts, which are translated, the values in them, and what somebody else wrote. */
type Content = { subject: string; paragraphs: string[]; values: Record<string, string>; quote?: string };

const MAX_VALUE_CHARACTERS = 200;

/** The types of messages apart from the summary. isMailedSql selects the events. */
type EmailType =
  | "usage.threshold"
  | "knowledge.failed"
  | "handoff.requested"
  | "handoff.contact"
  | "webhook.disabled"
  | "test";

/** The lines of a summary, by the type of the events. */
const SUMMARIES: Readonly<Record<EmailType, string>> = {
  "usage.threshold": "Usage that reached 80 % or 100 %: {usage_threshold}",
  "knowledge.failed": "Documents that were not refreshed: {knowledge_failed}",
  "handoff.requested": "Visitors who asked for a person: {handoff_requested}",
  "handoff.contact": "Messages that visitors left: {handoff_contact}",
  "webhook.disabled": "Disabled webhooks: {webhook_disabled}",
  test: "Test messages: {test}",
};

/** The types of the events about which messages are sent. */
export const MAILED_TYPES: readonly string[] = Object.keys(SUMMARIES).filter((type) => type !== "test");

const UNREADABLE =
  "The document could not be read. It may be damaged or protected. Save it again, for example as text, and add that file.";

/** Why a document or a website was not read, by the code. The console shows the same texts. */
const REASONS: Readonly<Record<string, string>> = {
  url_refused: "This address cannot be used. It must begin with https:// and be on the public internet.",
  url_status:
    "The page could not be read, because its server answered with an error. Open the address in your browser to check it.",
  unreachable: "The address could not be reached. It must be on the public internet.",
  timeout: "The address took too long to answer. Try again later, or save the page and add the file.",
  too_large: "The document is too large. Split it into smaller files.",
  too_many_redirects: "The address leads on to other addresses too often. Use the last one, which your browser shows.",
  unreadable_document: UNREADABLE,
  // The page is not text in a known encoding.
  invalid_argument: UNREADABLE,
  knowledge_limit_reached:
    "The workspace has as much knowledge as its plan permits. Remove documents, or ask your operator for a larger plan.",
  robots_refused: "The website's robots.txt does not permit this address.",
  robots_unavailable: "The website's robots.txt could not be read, so that no page was read. Try again later.",
  no_pages: "No page of the website has a text.",
  unexpected_error: "The page could not be read because of an error in Parley. It is read again at the next refresh.",
};

const CONTENTS: Readonly<Record<EmailType | "summary", (data: EventData, language: string) => Content>> = {
  "usage.threshold": ({ threshold, used, cap, month }, language) => ({
    subject: "{workspace}: {percent} of the month's messages are used",
    paragraphs: ["The workspace {workspace} has used {used} of the {cap} messages of its plan in {month}."],
    values: {
      percent: formatNumber(Number(threshold) / 100, language, { style: "percent" }),
      used: formatNumber(Number(used), language),
      cap: formatNumber(Number(cap), language),
      month: formatMonth(String(month), language),
    },
  }),
  "knowledge.failed": ({ name, bot_slug, code, site_id }) => ({
    subject:
      site_id === undefined
        ? "{workspace}: the document {name} was not refreshed"
        : "{workspace}: the website {name} was not read completely",
    paragraphs: [
      site_id === undefined
        ? "Parley could not read the document {name} of the bot {bot} from its URL. The bot keeps the previous version."
        : "Parley could not read all pages of the website {name} for the bot {bot}. The bot keeps the texts that it has. You can see the pages in the console.",
      REASONS[String(code)] ?? "The reason: {code}",
    ],
    values: { name: String(name), bot: String(bot_slug), code: String(code) },
  }),
  "handoff.requested": ({ bot_slug, session_id }) => ({
    subject: "{workspace}: a visitor waits for a person",
    paragraphs: ["A visitor of the bot {bot} has asked for a person. The conversation: {session}"],
    values: { bot: String(bot_slug), session: String(session_id) },
  }),
  "handoff.contact": ({ bot_slug, session_id, email, message }) => ({
    subject: "{workspace}: a visitor has left a message",
    paragraphs: [
      "A visitor of the bot {bot} has left a message. Your reply to this e-mail goes to {email}. The conversation: {session}",
    ],
    values: { bot: String(bot_slug), session: String(session_id), email: String(email) },
    quote: String(message),
  }),
  "webhook.disabled": ({ host, reason }) => ({
    subject: "{workspace}: the webhook to {host} is disabled",
    paragraphs: [
      reason === "gone"
        ? "The receiver {host} answered that it is gone (status 410), so Parley disabled the webhook."
        : "The receiver {host} failed for 72 hours, so Parley disabled the webhook.",
      "The events that waited are kept for 30 days. They are sent when you enable the webhook again.",
    ],
    values: { host: String(host) },
  }),
  test: () => ({
    subject: "{workspace}: a test message",
    paragraphs: ["Messages about the workspace {workspace} reach you at this address."],
    values: {},
  }),
  summary: (counts, language) => ({
    subject: "{workspace}: more events",
    paragraphs: [
      "Parley limits the messages that it sends in an hour. These events got no message of their own:",
      ...Object.keys(counts).map((type) => SUMMARIES[type as EmailType]),
    ],
    values: Object.fromEntries(
      Object.entries(counts).map(([type, count]) => [keyOf(type), formatNumber(Number(count), language)]),
    ),
  }),
};

const FOOTER =
  "You get this message because an owner of the workspace {workspace} added your address. An owner can remove it.";

/** All texts, for the test of the translations. */
export const TEXTS: readonly string[] = [
  ...Object.values(CONTENTS).flatMap((contentOf) =>
    [
      { reason: "gone", month: "2026-01" },
      { reason: "failing", month: "2026-01", site_id: 1 },
    ].flatMap((data) => {
      const { subject, paragraphs } = contentOf(data, "en");
      return [subject, ...paragraphs.filter((text) => text !== undefined)];
    }),
  ),
  ...Object.values(REASONS),
  ...Object.values(SUMMARIES),
  FOOTER,
];

export type RenderedEmail = { subject: string; text: string; html: string };

/** Renders an event's message as plain text and as HTML without links, images and styles from elsewhere. */
export function renderEmail(email: {
  workspaceId: string;
  type: string;
  data: EventData;
  language: string;
}): RenderedEmail {
  const { workspaceId, type, data, language } = email;
  const content = CONTENTS[type as EmailType](data, language);
  const isRightToLeft = directionOf(language) === "rtl";
  const values = Object.fromEntries(
    Object.entries({ ...content.values, workspace: workspaceId }).map(([name, value]) => {
      const line = toLine(value);
      return [name, isRightToLeft ? isolate(line) : line];
    }),
  );
  const quote = content.quote === undefined ? [] : [toQuote(content.quote)];
  // So that no line of it reads as one of this message.
  const markedQuote = quote.map((each) => each.replace(/^/gm, "> "));
  const [subject = "", footer = "", ...paragraphs] = [content.subject, FOOTER, ...content.paragraphs].map((text) =>
    translate(language, text, values),
  );
  return {
    subject,
    text: `${[...paragraphs, ...markedQuote].join("\n\n")}\n\n-- \n${footer}\n`,
    html: toHtml({ paragraphs, quote, footer, language }),
  };
}

type Parts = { paragraphs: string[]; quote: string[]; footer: string; language: string };

function toHtml({ paragraphs, quote, footer, language }: Parts): string {
  return [
    `<!doctype html><html lang="${language}" dir="${directionOf(language)}"><head><meta charset="utf-8"></head>`,
    '<body style="font-family: sans-serif; line-height: 1.5">',
    ...paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`),
    ...quote.map((text) => `<blockquote dir="auto" style="white-space: pre-wrap">${escapeHtml(text)}</blockquote>`),
    `<p style="font-size: 0.85em; color: #555555">${escapeHtml(footer)}</p></body></html>`,
  ].join("\n");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}

/** Makes a value one line without control characters, because it may be in the subject. */
function toLine(value: string): string {
  const line = value
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\s]+/gu, " ")
    .trim();
  return line.length > MAX_VALUE_CHARACTERS ? `${line.slice(0, MAX_VALUE_CHARACTERS)}…` : line;
}

/** Removes what could change how the rest of the message reads from a text of a visitor. Each line ends with LF. */
const toQuote = (text: string) =>
  text
    .toWellFormed()
    .replace(/\r\n?|[\v\f\x85\p{Zl}\p{Zp}]/gu, "\n")
    .replace(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, "")
    .trim();

/** Keeps the punctuation of a value in its place in a text from right to left. */
const isolate = (value: string) => `\u2068${value}\u2069`;

function keyOf(type: string): string {
  return type.replace(".", "_");
}

function formatNumber(value: number, language: string, options: Intl.NumberFormatOptions = {}): string {
  return new Intl.NumberFormat(language, options).format(value);
}

/** `month` is YYYY-MM. */
function formatMonth(month: string, language: string): string {
  const date = new Date(`${month}-01T00:00:00Z`);
  return new Intl.DateTimeFormat(language, { year: "numeric", month: "long", timeZone: "UTC" }).format(date);
}
