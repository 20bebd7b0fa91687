import { cpuMsOf } from "@parley/test-support";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findCredentials } from "./secrets.ts";

function redactFor(value: string, scheme = "Bearer") {
  const secret = { value, scheme, header: "authorization", origins: ["https://a.example"], workspaces: ["*"] };
  return findCredentials({ s: secret }, { name: "s", url: "https://a.example/x", workspaceId: "w" }).redact;
}
const WITHHELD = "the tool's result is withheld, because it contains a secret";

const percentAll = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
const percentOne = (text: string, at: number) => text.slice(0, at) + percentAll(text.charAt(at)) + text.slice(at + 1);
const jsonUnicode = (text: string) =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");
const base64 = (text: string) => Buffer.from(text).toString("base64");
const base64url = (text: string) => Buffer.from(text).toString("base64url");
const hex = (text: string) => Buffer.from(text).toString("hex");

/** Encoded forms of a text. */
const ENCODINGS: Record<string, (text: string) => string> = {
  base64,
  "base64 without padding": (text) => base64(text).replaceAll("=", ""),
  base64url,
  "base64 at the second alignment": (text) => base64(`x${text}`),
  "base64 at the third alignment": (text) => base64(`xy${text}tail`),
  "base64 within a longer text": (text) => base64(`{"token":"${text}","more":"…"}`),
  "base64 in lines": (text) => base64(`${"x".repeat(70)}${text}`).replaceAll(/(.{20})/g, "$1\r\n"),
  "base64 in lines of a JSON string": (text) =>
    JSON.stringify(base64(`${"x".repeat(70)}${text}`).replaceAll(/(.{20})/g, "$1\n")),
  "base64 after letters": (text) => `token${base64(text)}`,
  "base64 of base64": (text) => base64(base64(text)),
  "base64 of UTF-16": (text) => Buffer.from(text, "utf16le").toString("base64"),
  "percent-encoded base64": (text) => percentAll(base64(text)),
  "base64 with escaped slashes": (text) => base64(text).replaceAll("/", "\\/"),
  "Basic credentials": (text) => `Basic ${base64(`user:${text}`)}`,
  "the header's value in base64": (text) => base64(`Bearer ${text}`),
  hex,
  "upper-case hex": (text) => hex(text).toUpperCase(),
  "hex with colons": (text) => hex(text).replaceAll(/(..)(?=.)/g, "$1:"),
  "hex after a digit": (text) => `7${hex(text)}`,
  "hex escapes": (text) => hex(text).replaceAll(/(..)/g, "\\x$1"),
  "percent-encoded": percentAll,
  "percent-encoded in upper case": (text) => percentAll(text).toUpperCase(),
  "partly percent-encoded": (text) => percentOne(text, text.length >> 1),
  "percent-encoded twice": (text) => percentAll(text).replaceAll("%", "%25"),
  "percent-encoded three times": (text) => percentAll(text).replaceAll("%", "%2525"),
  "HTML entities": (text) => [...text].map((each) => `&#${each.codePointAt(0)};`).join(""),
  "hexadecimal HTML entities": (text) => [...text].map((each) => `&#x${each.codePointAt(0)?.toString(16)};`).join(""),
  "JSON escapes": jsonUnicode,
  "JSON escapes in upper case": (text) => jsonUnicode(text).replaceAll(/[a-f]/g, (digit) => digit.toUpperCase()),
  "JSON escapes in a JSON string": (text) => JSON.stringify(jsonUnicode(text)),
  "code point escapes": (text) => [...text].map((each) => `\\u{${each.codePointAt(0)?.toString(16)}}`).join(""),
  "quoted-printable": (text) => hex(text).toUpperCase().replaceAll(/(..)/g, "=$1"),
};

const SECRETS = [
  "sk-tool",
  "abc",
  "a1b2c3d4",
  "k/9+Q==~",
  "pä$$wörd🔑",
  'quo"te\\back/slash',
  "p&q<r>",
  "a%20b&lt;c",
  "with space",
  "x".repeat(200),
];

describe.each(SECRETS)("the result of a tool with the secret %j", (secret) => {
  const redact = redactFor(secret);

  test.each(Object.entries(ENCODINGS))("is withheld if it contains the secret as: %s", (_, encode) => {
    for (const result of [encode(secret), `{"echo":"${encode(secret)}","n":1}`, `Héllo ${encode(secret)}.`])
      expect(() => redact(result), result).toThrow(WITHHELD);
  });

  test("has [secret] in place of the secret itself, with and without the scheme", () => {
    expect(redact(`a ${secret} b Bearer ${secret}`)).toBe("a [secret] b Bearer [secret]");
  });
});

test.each([
  ["JSON", JSON.stringify, 'quo"te\\back'],
  ["a URL", encodeURIComponent, "k/9+Q== x"],
  ["a form", (text: string) => new URLSearchParams({ text }).toString(), "with space&more"],
  ["HTML", (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;"), "p&q<r>"],
] as const)("a secret that %s escapes is withheld", (_, encode, secret) => {
  expect(() => redactFor(secret)(encode(secret))).toThrow(WITHHELD);
});

test.each(["utf16le", "utf16be"])("a secret in a result that is %s but was read as UTF-8 is withheld", (encoding) => {
  const bytes = Buffer.from('{"echo":"a1b2c3d4"}', "utf16le");
  const text = (encoding === "utf16be" ? bytes.swap16() : bytes).toString();
  expect(() => redactFor("a1b2c3d4")(text)).toThrow(WITHHELD);
});

test("the credentials and the password of the scheme Basic are redacted in decoded form too", () => {
  const redact = redactFor(base64("shop:pa55word"), "Basic");
  expect(redact(`user shop:pa55word, password pa55word, header Basic ${base64("shop:pa55word")}`)).toBe(
    "user [secret], password [secret], header Basic [secret]",
  );
  expect(() => redact(hex("pa55word"))).toThrow(WITHHELD);
});

test.each([
  "",
  "Your order 4711 ships on 2026-11-29. Total: 12.50 €.",
  JSON.stringify({ id: "b7a1c3d2-0000-4000-8000-1234567890ab", items: [{ name: "Tea & more", price: 3.5 }] }),
  `data:image/png;base64,${Buffer.from("no secret in here, only words").toString("base64")}`,
  "100 % sure, see %zz &unknown; &#99999999; \\u12 \\q \\",
])("an ordinary result is unchanged: %j", (result) => {
  for (const secret of SECRETS) expect(redactFor(secret)(result)).toBe(result);
});

test("a result that was encoded at random with a random secret is withheld", () => {
  const encodings = Object.values(ENCODINGS);
  fc.assert(
    fc.property(
      fc.string({ minLength: 4, maxLength: 40, unit: "grapheme-ascii" }).filter((secret) => secret.trim() === secret),
      fc.constantFrom(...encodings),
      fc.string({ maxLength: 20, unit: fc.constantFrom("{", " ", '"', ":", ".") }),
      (secret, encode, prefix) => {
        const encoded = encode(secret);
        // Some encodings leave some texts unchanged.
        if (!encoded.includes(secret)) expect(() => redactFor(secret)(prefix + encoded)).toThrow(WITHHELD);
      },
    ),
    { numRuns: 500 },
  );
});

test("a result of the largest size is checked in less than 500 ms of CPU time", () => {
  const redact = redactFor("a-secret-of-a-common-length");
  for (const unit of ["abcd", "%2541", "&#115;", "\\u0073", "Hello, world! ", "=\n", "\\", "&", "%"]) {
    const result = unit.repeat(Math.floor((64 * 1024) / unit.length));
    expect(
      cpuMsOf(() => void redact(result)),
      unit,
    ).toBeLessThan(500);
  }
});
