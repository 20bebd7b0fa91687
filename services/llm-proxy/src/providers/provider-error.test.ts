import { expect, test } from "vitest";
import { readProviderError } from "./provider-error.ts";

test.each<[string, unknown, string, string]>([
  [
    "OpenAI",
    { message: "No such model.", type: "invalid_request_error", code: "model_not_found", param: "model" },
    "model_not_found",
    "No such model. (model)",
  ],
  [
    "OpenAI without a code",
    { message: "Bad.", type: "invalid_request_error", code: null, param: null },
    "invalid_request_error",
    "Bad.",
  ],
  ["an error object in a body", { error: { message: "Bad.", type: "x_error" } }, "x_error", "Bad."],
  [
    "Anthropic",
    { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    "overloaded_error",
    "Overloaded",
  ],
  [
    "a list of Gemini",
    [{ error: { code: 400, message: "Wrong schema.", status: "INVALID_ARGUMENT" } }],
    "INVALID_ARGUMENT",
    "Wrong schema.",
  ],
  [
    "vLLM",
    { object: "error", message: "Too long.", type: "BadRequestError", param: null, code: 400 },
    "BadRequestError",
    "Too long.",
  ],
  ["a text", "upstream failed", "", "upstream failed"],
  ["an error text", { error: "model is loading", error_type: "overloaded" }, "overloaded", "model is loading"],
  ["a message", { message: "Unauthorized" }, "", "Unauthorized"],
  [
    "a capitalised message",
    { __type: "ValidationException", Message: "Malformed." },
    "ValidationException",
    "Malformed.",
  ],
  ["a detail", { detail: "Not Found" }, "", "Not Found"],
  [
    "a list of details",
    { detail: [{ loc: ["body", "messages", 0], msg: "field required", type: "value_error" }] },
    "value_error",
    "field required (body.messages.0)",
  ],
  ["a list of errors", { errors: [{ message: "Bad." }] }, "", "Bad."],
  [
    "OpenRouter",
    { message: "Provider returned error", code: 400, metadata: { raw: '{"error":{"message":"Wrong role."}}' } },
    "400",
    "Provider returned error Wrong role.",
  ],
  ["an error as JSON in the message", { message: '{"error":{"message":"Bad.","code":"bad"}}' }, "bad", "Bad."],
  ["a JSON text", '{"error":{"message":"Bad.","code":"bad"}}', "bad", "Bad."],
  ["JSON that was cut", '{"error":{"message":"Bad \\"x\\".","type":"bad', "", 'Bad \\"x\\".'],
  ["an HTML page", "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", "", "502 Bad Gateway"],
  ["an HTML page without a title", "<!DOCTYPE html><style>a{}</style><h1>Down</h1>", "", "Down"],
  ["nothing", undefined, "", ""],
  ["an empty text", "", "", ""],
  ["an empty object", {}, "", ""],
  ["an empty list", [], "", ""],
  ["numbers", { code: 1302, message: 7 }, "1302", ""],
  ["null", null, "", ""],
])("reads an error in the shape of %s", (_, body, code, message) => {
  const error = readProviderError(body);
  expect({ ...error, message: error.message.replaceAll(/\s+/g, " ").trim() }).toEqual({ code, message });
});

test("reads an error that is nested 1,000 levels deep", () => {
  let body: unknown = "deep";
  for (let level = 0; level < 1_000; level++) body = { error: body };
  expect(readProviderError(body)).toEqual({ code: "", message: "" });
});
