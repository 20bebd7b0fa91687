import { expect, test } from "vitest";
import { createLogger } from "./logger.ts";

function logAndParse(fields: object): Record<string, unknown> {
  const lines: string[] = [];
  createLogger("test", "info", { write: (line) => void lines.push(line) }).info(fields, "event");
  return JSON.parse(lines.join("")) as Record<string, unknown>;
}

test("the log does not redact a number in a field whose name is in SECRET_FIELDS, such as phases_ms.token", () => {
  expect(logAndParse({ phases_ms: { open: 1.5, token: 20.25 } })).toMatchObject({
    phases_ms: { open: 1.5, token: 20.25 },
  });
});

test.each([["secret"], [{ value: "secret" }], [["secret"]], [true], [null]])(
  "the log redacts %j in a field whose name is in SECRET_FIELDS",
  (value) => {
    for (const name of [
      "authorization",
      "public_key",
      "publicKey",
      "message_text",
      "content",
      "token",
      "password",
      "url",
    ])
      expect(logAndParse({ [name]: value, request: { [name]: value } })).toMatchObject({
        [name]: "[redacted]",
        request: { [name]: "[redacted]" },
      });
  },
);
