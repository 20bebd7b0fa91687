import type { PlaygroundWords } from "./english.ts";

/** The keys of the advice for operators about an error code. */
const ADVICE: Readonly<Record<string, keyof PlaygroundWords>> = {
  authentication_required: "tokenRefused",
  no_workspace: "noWorkspace",
  auth_unavailable: "noSigningKeys",
  bot_not_found: "noBot",
  session_not_found: "noSession",
  message_too_long: "long",
  rate_limited: "tooManyRequests",
  unavailable: "notReady",
  overloaded: "overloaded",
  busy: "unpaid",
  quota_exceeded: "quotaUsed",
  provider_auth: "providerKey",
  provider_rate_limited: "providerBusy",
  provider_timeout: "slow",
  provider_error: "providerFailed",
  internal_error: "serviceFailed",
  network: "network",
  offline: "offline",
  interrupted: "streamEnded",
  refused: "proxyRefused",
  stopped: "stopped",
};

/** Returns the code and its advice. If the code has no advice, the text refers to docs/api.md. */
export function describeError(code: string, words: PlaygroundWords): string {
  return `${code}: ${words[ADVICE[code] ?? "otherError"]}`;
}
