import { describe, expect, test } from "vitest";
import { redactProviderError } from "./redact-provider-error.ts";

const KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90";
const TEXTS = [
  "You are Bakerella, the assistant of the bakery Nordlicht.",
  "Hello, my name is Zlatan Ibrović, card 4111 1111 1111 1111, PIN 4711. Where is my order of rye bread?",
  "你好，我叫李雷，我想退货",
  "Где мой заказ номер семь?",
  "🎂🎈",
];

const redact = (message: string, code = "") =>
  redactProviderError(
    { status: 400, code, message },
    { secrets: [KEY, "tenant-4f2a"], texts: TEXTS, names: ["llama-v3p1-405b-instruct", "get_order"] },
  );

test.each([
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9120 tokens. Please reduce the length of the messages.",
  "Invalid schema for function 'get_order': In context=('properties', 'items'), array schema missing items.",
  "The model llama-v3p1-405b-instruct does not exist or you do not have access to it.",
  "Rate limit reached: Limit 30000, Used 29000, Requested 2000. Please try again in 1.2s.",
  "Function call is missing a thought_signature in functionCall parts.",
  "502 Bad Gateway",
  "参数错误",
])("keeps %s", (message) => expect(redact(message).message).toBe(message));

describe("removes", () => {
  test.each<[string, string, string[]]>([
    ["the key", `Incorrect API key provided: ${KEY}.`, ["Ab12", "sk-proj"]],
    [
      "a masked key",
      "Incorrect API key provided: sk-abc***xyz1. You can find it at https://x.example.",
      ["abc", "xyz1"],
    ],
    ["a key that was cut", "Incorrect API key provided: sk-proj-Ab12...Ij90", ["Ab12", "Ij90", "sk-proj"]],
    ["the end of the key", "No account for the key ending in Ij90", ["Ij90"]],
    ["another key", "Key AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY is invalid", ["AIza", "9tSrke"]],
    ["an authorization header", "Authorization: Bearer abc.def received", ["abc.def"]],
    ["an authorization header in JSON", '{"authorization":"Basic dXNlcjpwYXNz"}', ["dXNlcjpwYXNz"]],
    ["a header's value", "unknown tenant tenant-4f2a", ["4f2a"]],
    [
      "a URL's user, password and query",
      "GET https://user:pass@host.example/v1?sig=s3cr3t failed",
      ["user:", "pass", "s3cr3t"],
    ],
    ["a name", "Invalid name: Zlatan", ["Zlatan"]],
    ["a name in another case", "INVALID NAME: ZLATAN IBROVIĆ", ["ZLATAN", "IBROVI"]],
    ["a part of a name", "Invalid input 'Zlat'", ["Zlat"]],
    ["a sentence", "Blocked: 'Where is my order of rye bread?'", ["Where is my order", "rye", "bread"]],
    ["a sentence of common words", "Blocked: my name is", ["my name is"]],
    ["instructions", "You are Bakerella, the assistant of the bakery", ["Bakerella", "bakery", "assistant"]],
    ["a card's number", "Invalid content: 4111 1111 1111 1111", ["4111", "1111"]],
    ["a card's number without spaces", "Invalid content: 4111111111111111", ["4111"]],
    ["a short number of the request", "Invalid value 4711", ["4711"]],
    ["Chinese", "内容违规：我叫李雷", ["李雷"]],
    ["a Chinese name", "敏感词李雷", ["李雷"]],
    ["Russian", "Недопустимо: заказ номер семь", ["заказ", "семь"]],
    ["emoji", "bad token 🎂", ["🎂"]],
    [
      "JSON's escapes",
      'at {\\"content\\":\\"\\u0437\\u0430\\u043a\\u0430\\u0437 Zlatan\\"}',
      ["u0437", "заказ", "Zlatan"],
    ],
    ["a text that is joined by JSON's escapes", "Hello\\nZlatan", ["Zlatan"]],
    ["URL encoding", "q=%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7", ["%D0", "заказ"]],
    ["HTML's escapes", "<p>Zl&#97;tan</p>", ["Zlatan", "Zl&"]],
    ["base64", `input ${Buffer.from("my name is Zlatan").toString("base64")}`, ["bXkgbmFtZS"]],
    ["an e-mail address", "user a.b@c.example is not a member", ["a.b", "c.example"]],
    ["full-width letters", "Invalid Ｚｌａｔａｎ", ["Ｚｌａｔａｎ"]],
  ])("%s", (_, message, parts) => {
    const redacted = redact(message).message;
    for (const part of parts) expect(redacted).not.toContain(part);
    expect(redacted.includes("[…]") || message.includes("://")).toBe(true);
  });
});

test("removes control characters and marks of text direction", () => {
  expect(redact("Bad\r\n\u001B[31m request\u202E\u0000").message).toBe("Bad [31m request");
});

test("shortens a message of a megabyte to 300 characters quickly", () => {
  const startedAt = process.cpuUsage();
  const { message } = redact("request failed ".repeat(70_000));
  expect(message).toHaveLength(300);
  expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(500);
});

test.each([
  ["context_length_exceeded", "context_length_exceeded"],
  ["INVALID_ARGUMENT", "INVALID_ARGUMENT"],
  ["1302", "1302"],
  ["Zlatan", ""],
  [KEY, ""],
  ["a sentence", ""],
  ["12345678", ""],
])("the code %j becomes %j", (code, expected) => expect(redact("", code).code).toBe(expected));
