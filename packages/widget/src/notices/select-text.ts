import type { NOTICES_ENGLISH } from "./english.ts";

type Key = keyof typeof NOTICES_ENGLISH;

/** Maps the key of a text to the error codes for which the text is shown, separated by spaces. All other codes but the keys show `failed`. */
const CODES_BY_KEY: Readonly<Record<Key, string>> = {
  busy: "rate_limited unavailable overloaded provider_rate_limited auth_unavailable",
  limit: "visitor_limit",
  slow: "provider_timeout",
  refused: "invalid_json invalid_message invalid_session_id method_not_allowed",
  long: "message_too_long payload_too_large",
  unconfirmed: "visitor_token_failed invalid_visitor_token",
  closed:
    "invalid_api_key origin_not_allowed visitor_token_required provider_auth bot_not_found forbidden no_workspace not_authenticated authentication_required",
  quota: "quota_exceeded",
  ended: "session_not_found",
};

/**
 * The keys of the texts without a button to try again. For `ended`, the widget has already sent the message again in a new session. For the
 * other keys, the same message would fail again.
 */
const KEYS_WITHOUT_RETRY = ["refused", "long", "closed", "quota", "ended"];

/** Returns the text's key for an error code, and whether to show a button to try again. */
export function selectText(code: string): { readonly key: Key | "failed"; readonly canRetry: boolean } {
  const key =
    (Object.keys(CODES_BY_KEY) as Key[]).find((each) => `${each} ${CODES_BY_KEY[each]}`.split(" ").includes(code)) ??
    "failed";
  return { key, canRetry: !KEYS_WITHOUT_RETRY.includes(key) };
}
