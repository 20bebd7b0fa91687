import type { ChunkContext } from "./chunk.ts";
import type { PANEL_ENGLISH } from "./english.ts";

export type Words = Readonly<Record<keyof typeof PANEL_ENGLISH, string>>;

/**
 * Maps the key of a text to the error codes for which the text is shown, separated by spaces. A code that equals a key also shows the key's
 * text. All other codes show `failed`.
 */
const CODES_BY_KEY: Readonly<Partial<Record<keyof Words, string>>> = {
  stopped: "",
  offline: "",
  network: "",
  interrupted: "",
  busy: "rate_limited visitor_limit unavailable overloaded provider_rate_limited auth_unavailable",
  slow: "provider_timeout",
  refused: "invalid_json invalid_message invalid_session_id method_not_allowed",
  long: "message_too_long payload_too_large",
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
export function selectNotice(code: string): { readonly key: keyof Words; readonly canRetry: boolean } {
  const key =
    (Object.keys(CODES_BY_KEY) as (keyof Words)[]).find((each) =>
      `${each} ${CODES_BY_KEY[each]}`.split(" ").includes(code),
    ) ?? "failed";
  return { key, canRetry: !KEYS_WITHOUT_RETRY.includes(key) };
}

/** Placeholders without a value stay in the text. */
export function fillPlaceholders(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name: string) => String(values[name] ?? placeholder));
}

const TIMEOUT_MS = 3_000;

/** Texts and their language, a BCP 47 tag. */
export interface Texts<English> {
  readonly words: Readonly<Record<keyof English, string>>;
  readonly lang: string;
}

/** Fetches the translation of `english`. Returns `english` if there is none or it cannot be fetched within 3 s. */
export async function loadTexts<English extends Readonly<Record<string, string>>>(
  english: English,
  lang: string,
  base: string,
): Promise<Texts<English>> {
  // The build defines LANGUAGES: see globals.d.ts. English is built in, so it is not among them.
  const [version, offered] = LANGUAGES;
  if (offered.includes(lang)) {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(`${base}widget/${lang}.${version}.json`, { credentials: "omit", signal });
      if (response.ok) {
        return { words: (await response.json()) as Texts<English>["words"], lang };
      }
    } catch {
      // The texts are in English.
    }
  }
  return { words: english, lang: "en" };
}

/** Returns the panel's words and those of a chunk. The bot's own words are among the panel's and replace those of the chunk. */
export async function addWords<English extends Readonly<Record<string, string>>>(
  english: English,
  { lang, base, words }: ChunkContext,
): Promise<Words & Texts<English>["words"]> {
  return { ...(await loadTexts(english, lang, base)).words, ...words };
}
