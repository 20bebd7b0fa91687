import { describe, expect, it } from "vitest";
import { errorText } from "./error-text.ts";
import { errorOf } from "./response-error.ts";

describe("errorOf", () => {
  it.each([
    [413, '{"error":"payload_too_large"}', "This is too large to be sent. Shorten it."],
    [413, "<html>Request Entity Too Large</html>", "This is too large to be sent. Shorten it."],
    [429, '{"detail":"rate_limited"}', "Too many requests. Try again in a minute."],
    [503, '{"error":"sign_in_unavailable"}', "The service is not available right now. Try again in a few seconds."],
    [502, "<html>Bad gateway</html>", "The service is not available right now. Try again in a few seconds."],
    [502, "null", "The service is not available right now. Try again in a few seconds."],
    [400, '{"code":"invalid_argument","message":"name must not be empty"}', "Name must not be empty."],
    // The console has no text for this code, so the status determines the text.
    [403, '{"error":"cross_site_request"}', "Your role does not allow this. Ask an owner of the workspace."],
  ])("maps the status %i with the body %s to: %s", (status, body, text) => {
    expect(errorText(errorOf(status, body))).toBe(text);
  });

  it("prefers the code in the header parley-code to the body's message", () => {
    const body = '{"code":"invalid_argument","message":"the document cannot be read"}';
    expect(errorText(errorOf(400, body, "unsupported_document"))).toMatch(/^Only \.txt, .+ files can be read\.$/);
  });
});
