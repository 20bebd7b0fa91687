/** What an operator can do about a code; the code itself is always shown beside it. */
const ADVICE: Readonly<Record<string, string>> = {
  authentication_required: "The token is missing, has expired or is not accepted. Get a new one and paste it.",
  no_workspace: "The token names no workspace that you are a member of.",
  auth_unavailable: "The keys of the single sign-on service cannot be reached.",
  bot_not_found: "The workspace has no bot of this slug.",
  session_not_found: "This session was removed, or has not asked anything yet.",
  message_too_long: "Messages may have 4,000 characters.",
  rate_limited: "The playground answers 120 requests a minute.",
  unavailable: "The service is starting or a part of it is away.",
  quota_exceeded: "The workspace has used up this month’s messages.",
  provider_auth: "The model provider refused its key: check the provider’s configuration.",
  provider_rate_limited: "The model provider is limiting requests.",
  provider_timeout: "The model provider did not answer in time.",
  provider_error: "The model provider failed.",
  network: "The service cannot be reached.",
  offline: "This machine is offline.",
  interrupted: "The stream ended without a done event: something between here and the service cuts it.",
  stopped: "Stopped.",
};

/** Tells an operator what a code means. */
export function adviceOn(code: string): string {
  return `${code}: ${ADVICE[code] ?? "see the logs of the edge."}`;
}
