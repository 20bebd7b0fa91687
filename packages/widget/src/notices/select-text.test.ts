import { describe, expect, it } from "vitest";
import { ENGLISH } from "../english.ts";
import { selectText } from "./select-text.ts";

/** Error codes of the API and of the widget, and states, each with the key of its text and canRetry. */
const CODES = [
  ["invalid_json", "refused", false],
  ["invalid_message", "refused", false],
  ["message_too_long", "long", false],
  ["payload_too_large", "long", false],
  ["invalid_session_id", "refused", false],
  ["invalid_api_key", "closed", false],
  ["origin_not_allowed", "closed", false],
  ["visitor_token_required", "closed", false],
  ["invalid_visitor_token", "unconfirmed", true],
  ["visitor_token_failed", "unconfirmed", true],
  ["method_not_allowed", "refused", false],
  ["rate_limited", "busy", true],
  ["visitor_limit", "limit", true],
  ["unavailable", "busy", true],
  ["overloaded", "busy", true],
  ["session_not_found", "ended", false],
  ["busy", "busy", true],
  ["quota_exceeded", "quota", false],
  ["provider_auth", "closed", false],
  ["provider_rate_limited", "busy", true],
  ["provider_timeout", "slow", true],
  ["provider_error", "failed", true],
  ["internal_error", "failed", true],
  ["authentication_required", "closed", false],
  ["not_authenticated", "closed", false],
  ["forbidden", "closed", false],
  ["no_workspace", "closed", false],
  ["bot_not_found", "closed", false],
  ["auth_unavailable", "busy", true],
  ["refused", "refused", false],
  ["empty", "failed", true],
  ["unknown_code", "failed", true],
] as const;

describe("selectText", () => {
  it.each(CODES)("returns for %s the text key %s, with canRetry %s", (code, key, canRetry) => {
    expect(selectText(code)).toEqual({ key, canRetry });
    // No text may show an error code such as quota_exceeded.
    expect(ENGLISH[key]).not.toContain("_");
  });
});
