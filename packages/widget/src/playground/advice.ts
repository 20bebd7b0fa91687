/** Advice for operators about an error code. */
const ADVICE: Readonly<Record<string, string>> = {
  authentication_required: "The token is missing, invalid or expired. Create a new one and paste it.",
  no_workspace: "The token’s workspace claim is missing, or is not a workspace id.",
  auth_unavailable: "The identity provider’s signing keys cannot be fetched.",
  bot_not_found: "The workspace has no bot with this slug.",
  session_not_found: "This session was deleted, or it has no messages yet.",
  message_too_long: "A message can have at most 4,000 characters.",
  rate_limited:
    "The playground accepts 120 requests and 30 exports per minute, and no new message after 20 dropped or blocked replies in an hour.",
  unavailable: "The service is starting, or a part of it is unavailable.",
  overloaded: "Too many replies are running or waiting to start. Try again in a few seconds.",
  busy: "Too many of the workspace’s replies were dropped or blocked today, or too many of yours are running. docs/quota.md explains it.",
  quota_exceeded: "The workspace has used up its quota of this month.",
  provider_auth: "The model provider rejected the API key. Check the provider’s configuration.",
  provider_rate_limited: "The model provider’s rate limit is exceeded.",
  provider_timeout: "The model provider did not answer in time.",
  provider_error: "The model provider failed.",
  internal_error: "The service failed. The edge’s logs have the cause.",
  network: "The service cannot be reached.",
  offline: "This machine is offline.",
  interrupted: "The stream ended without a done event. A proxy in front of the service may have closed it.",
  refused: "The server refused the request without an error code. A proxy may have sent the response.",
  stopped: "Stopped.",
};

/** Returns the code and its advice. If the code has no advice, the text refers to docs/api.md. */
export function describeError(code: string): string {
  return `${code}: ${ADVICE[code] ?? "docs/api.md lists the error codes."}`;
}
