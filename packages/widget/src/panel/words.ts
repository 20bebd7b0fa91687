// What the panel says to visitors. English is built in; each file in src/lang holds the same keys in another language.

/** English. `{n}` stands for a number, `{name}` for the bot's name. */
export const ENGLISH = {
  input: "Your message",
  placeholder: "Write a message…",
  send: "Send",
  stop: "Stop",
  new: "New conversation",
  close: "Close chat",
  log: "Conversation",
  you: "You",
  suggestions: "Suggestions",
  typing: "{name} is writing",
  up: "Good answer",
  down: "Bad answer",
  unrated: "The rating could not be saved.",
  retry: "Try again",
  latest: "Newest message",
  over: "{n} characters too many",
  stopped: "Stopped.",
  offline: "You are offline. Your message is kept and will be sent when you are back.",
  network: "The connection was lost. Please try again.",
  interrupted: "The answer was cut off.",
  wait: "A lot of messages just now. Yours will be sent again in {n} s.",
  busy: "The assistant is busy just now. Please try again in a moment.",
  slow: "The answer took too long. Please try again.",
  failed: "Something went wrong. Please try again.",
  refused: "This message could not be sent.",
  long: "This message is too long. Please keep it under 4,000 characters.",
  closed: "This chat is not available at the moment.",
  quota: "The assistant cannot answer any more messages this month. Please contact us in another way.",
  ended: "The earlier conversation has ended. This is a new one.",
} as const;

/** The words of one language. */
export type Words = Readonly<Record<keyof typeof ENGLISH, string>>;

/** The codes behind the words; a code that is not here has failed. */
const CODES: Readonly<Partial<Record<keyof Words, string>>> = {
  stopped: "stopped",
  offline: "offline",
  network: "network",
  interrupted: "interrupted",
  busy: "rate_limited unavailable provider_rate_limited auth_unavailable",
  slow: "provider_timeout",
  refused: "refused invalid_json invalid_message invalid_session_id method_not_allowed",
  long: "message_too_long payload_too_large",
  closed:
    "invalid_api_key origin_not_allowed provider_auth bot_not_found forbidden no_workspace not_authenticated authentication_required",
  quota: "quota_exceeded",
  ended: "session_not_found",
};

/** Asking the same again cannot help after these. */
const FINAL = ["refused", "long", "closed", "quota", "ended"];

/** The key of the words for a code, and whether trying again may help. */
export function meaningOf(code: string): { readonly word: keyof Words; readonly retry: boolean } {
  const word = (Object.keys(CODES) as (keyof Words)[]).find((key) => CODES[key]?.split(" ").includes(code)) ?? "failed";
  return { word, retry: !FINAL.includes(word) };
}

/** Puts values into the braces of a text. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The language of the list that serves a tag best (`pt-BR` → `pt`), or undefined for English. */
export function pickLanguage(tag: string, offered: readonly string[]): string | undefined {
  return offered.find((lang) => lang === tag) ?? offered.find((lang) => lang === tag.split("-")[0]);
}

const DEADLINE_MS = 3_000;

/** Fetches the words of a language; English when it has no file or the file does not come in time. */
export async function loadWords(tag: string, base: string): Promise<Words> {
  const [hash, offered] = LANGUAGES;
  const lang = pickLanguage(tag, offered);
  if (!lang) {
    return ENGLISH;
  }
  const signal = AbortSignal.timeout(DEADLINE_MS);
  return fetch(`${base}widget/${lang}.${hash}.json`, { credentials: "omit", signal })
    .then((response) => response.json() as Promise<Words>)
    .catch(() => ENGLISH);
}
