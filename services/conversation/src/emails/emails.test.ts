import { expect, test } from "vitest";
import { retrySeconds } from "../webhooks/index.ts";
import { MAX_ATTEMPTS, requireAddress } from "./email.ts";
import { renderEmail, TEXTS } from "./render-email.ts";
import { parseSender, parseSmtpUrl } from "./smtp-settings.ts";
import { LANGUAGES, translate } from "./translate.ts";
import translations from "./translations.json" with { type: "json" };

test("SMTP_URL names the server, its encryption and the password", () => {
  expect(parseSmtpUrl("smtps://ada%40example.com:p%2Fw@smtp.example.com")).toEqual({
    ...{ host: "smtp.example.com", port: 465, secure: true, isPlain: false },
    auth: { user: "ada@example.com", pass: "p/w" },
  });
  expect(parseSmtpUrl("smtp://smtp.example.com\n")).toMatchObject({ port: 587, secure: false, isPlain: false });
  expect(parseSmtpUrl("smtp://[::1]:25/?tls=off")).toMatchObject({ host: "::1", port: 25, isPlain: true });
});

test.each([
  "smtp.example.com",
  "https://smtp.example.com",
  "smtp://secret@smtp.example.com",
  "smtp://a:secret@smtp.example.com?tls=off",
  "smtps://smtp.example.com?tls=off",
  "smtps://smtp.example.com?pool=true",
  "smtps://a:secret%@smtp.example.com",
])("SMTP_URL refuses %s without repeating it", (url) => {
  expect(() => parseSmtpUrl(url)).toThrow(/^(?!.*secret)/);
});

test("MAIL_FROM is an address with or without a name", () => {
  expect(parseSender("parley@example.com")).toEqual({ name: "", address: "parley@example.com" });
  expect(parseSender(" Parley Mail <parley@example.com>")).toEqual({
    name: "Parley Mail",
    address: "parley@example.com",
  });
  for (const text of ["", "parley", "a@example.com, b@example.com", "Parley <parley>", "A\r\nBcc: <a@example.com>"])
    expect(() => parseSender(text)).toThrow("must be an e-mail address");
});

test("a recipient is one plain address", () => {
  expect(requireAddress(" Ada.L+x@Example.COM ")).toBe("Ada.L+x@example.com");
  expect(() => requireAddress("ada@localhost")).toThrow("address must be an e-mail address");
});

const email = { workspaceId: "demo", language: "en" };

test("values are escaped in HTML, and cannot add a header or a line to the subject", () => {
  const name = '<img src="https://evil.example/p.gif">\r\nBcc: x@evil.example';
  const { subject, text, html } = renderEmail({
    ...email,
    type: "knowledge.failed",
    data: { name, bot_slug: "a&b", code: "timeout" },
  });
  expect(subject).not.toMatch(/[\r\n]/);
  expect(html).toContain("&lt;img src=&quot;https://evil.example/p.gif&quot;&gt;");
  expect(html).toContain("a&amp;b");
  expect(html).not.toMatch(/<(img|a|link|script|style)\b/);
  expect(text).toContain("a&b");
});

test("a message of usage has formatted numbers and the month's name", () => {
  const data = { month: "2026-11", threshold: 80, generation: 1, used: 4_000, cap: 5_000 };
  const { subject, text } = renderEmail({ ...email, type: "usage.threshold", data });
  expect(subject).toBe("demo: 80% of the month's messages are used");
  expect(text).toContain("has used 4,000 of the 5,000 messages of its plan in November 2026.");
  expect(text).toContain("An owner can remove it.");
});

test("a message about a website or a document gives the reason in words", () => {
  const data = { name: "https://shop.example/", bot_slug: "shop", refresh: true };
  const site = renderEmail({ ...email, type: "knowledge.failed", data: { ...data, code: "url_status", site_id: 7 } });
  expect(site.subject).toBe("demo: the website https://shop.example/ was not read completely");
  expect(site.text).toContain("Parley could not read all pages of the website https://shop.example/ for the bot shop.");
  expect(site.text).toContain("its server answered with an error");
  const document = { ...email, type: "knowledge.failed", language: "de" };
  const { text } = renderEmail({ ...document, data: { ...data, code: "timeout" } });
  expect(text).toContain("Parley konnte das Dokument https://shop.example/ des Bots shop nicht von seiner URL lesen.");
  expect(text).toContain("Die Adresse hat zu lange nicht geantwortet.");
  expect(renderEmail({ ...document, data: { ...data, code: "invalid_argument" } }).text).not.toContain("Der Grund:");
  // A code of a later version.
  expect(renderEmail({ ...document, data: { ...data, code: "new_code" } }).text).toContain("Der Grund: new_code");
});

test("a summary counts the events of each type", () => {
  const { text } = renderEmail({ ...email, type: "summary", data: { "knowledge.failed": 5, test: 2 } });
  expect(text).toContain("These events got no message of their own:");
  expect(text).toContain("Documents that were not refreshed: 5");
  expect(text).toContain("Test messages: 2");
});

test("each line of a visitor's text is marked as a quotation, so that none reads as Parley's own", () => {
  const message = "Hi\r\n\rYour bot is off.\n-- \u2028Parley\u2029\vSign in\f:\u0085now";
  const data = { bot_slug: "shop", session_id: "s", email: "vi@example.com", message };
  const { text, html } = renderEmail({ ...email, type: "handoff.contact", data });
  const [, quote = "", footer] = /^A visitor of the bot shop .*?\n\n(.*?)\n\n-- \n(.*)\n$/s.exec(text) ?? [];
  expect(quote.split(/[\n\v\f\r\x85\u2028\u2029]/)).toEqual(
    ["Hi", "", "Your bot is off.", "-- ", "Parley", "", "Sign in", ":", "now"].map((line) => `> ${line}`),
  );
  expect(footer).toMatch(/^You get this message because/);
  expect(html).toContain(">Hi\n\nYour bot is off.");
});

test("every language has each text with its placeholders", () => {
  const placeholders = (text: string) =>
    [...text.matchAll(/\{\w+\}/g)].map(String).toSorted((a, b) => a.localeCompare(b));
  const wanted = [...new Set(TEXTS)].toSorted((a, b) => a.localeCompare(b));
  for (const [language, texts] of Object.entries<Record<string, string>>(translations)) {
    expect(
      Object.keys(texts).toSorted((a, b) => a.localeCompare(b)),
      language,
    ).toEqual(wanted);
    for (const text of wanted)
      expect(placeholders(texts[text] ?? ""), `${language}: ${text}`).toEqual(placeholders(text));
  }
  for (const language of LANGUAGES) expect(translate(language, "{a}", { a: "b" })).toBe("b");
});

test("9 attempts take about 15 hours", () => {
  const waits = Array.from({ length: MAX_ATTEMPTS }, (_, n) => retrySeconds(n + 1, {}, MAX_ATTEMPTS));
  expect(waits.at(-1)).toBeUndefined();
  const hours = waits.reduce<number>((sum, seconds = 0) => sum + seconds, 0) / 3_600;
  expect(hours).toBeGreaterThan(15 * 0.7);
  expect(hours).toBeLessThan(15 * 1.35);
});
