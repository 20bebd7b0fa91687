import { NOTICES_ENGLISH } from "../notices/english.ts";
import { PANEL_ENGLISH } from "../panel/english.ts";

/** The page's texts in English that the widget does not have. Each file in lang has the same keys. */
export const OWN_ENGLISH = {
  title: "Playground",
  intro: "Chat with a bot as its visitors do and see every event. Replies count against the workspace’s quota.",
  bot: "Short name of the bot",
  token: "Access token",
  tokenHint: "kept in memory only",
  events: "Events of the last reply",
  event: "Event",
  data: "Data",
  transcript: "Transcript",
  fetch: "Fetch the transcript",
  download: "Download the JSON",
  message: "Message",
  role: "Role",
  content: "Content",
  status: "Status",
  knowledge: "Knowledge used",
  tokensIn: "Tokens in",
  tokensOut: "Tokens out",
  rating: "Rating",
  none: "none",
  complete: "The reply is complete.",
  tokenNeeded: "A reply is not complete. Enter the access token to continue it.",
  finishReason: "Finish reason",
  model: "Model",
  firstToken: "First token, ms",
  total: "Total, ms",
  latency: "Latency reported by Parley, ms",
  tokenEvents: "Token events",
  tokenRefused: "The token is missing, invalid or expired. Create a new one and paste it.",
  noWorkspace: "The token’s workspace claim is missing, or is not a workspace id.",
  noSigningKeys: "The identity provider’s signing keys cannot be fetched.",
  noBot: "The workspace has no bot with this short name.",
  noSession: "This conversation was deleted, or it has no messages yet.",
  tooManyRequests:
    "The playground accepts 120 requests and 30 exports per minute, and no new message after 20 dropped or blocked replies in an hour.",
  notReady: "The service is starting, or a part of it is unavailable.",
  overloaded: "Too many replies are running or waiting to start. Try again in a few seconds.",
  unpaid:
    "Too many of the workspace’s replies were dropped or blocked today, or too many of yours are running. docs/quota.md explains it.",
  quotaUsed: "The workspace has used up its quota of this month.",
  providerKey: "The model provider rejected the API key. Check the provider’s configuration.",
  providerBusy: "The model provider’s rate limit is exceeded.",
  providerFailed: "The model provider failed.",
  serviceFailed: "The service failed. The edge’s logs have the cause.",
  streamEnded: "The stream ended without a done event. A proxy in front of the service may have closed it.",
  proxyRefused: "The server refused the request without an error code. A proxy may have sent the response.",
  otherError: "docs/api.md lists the error codes.",
} as const;

/** The texts of the widget that the page shows. */
export const SHARED_ENGLISH = { ...PANEL_ENGLISH, ...NOTICES_ENGLISH };

export const PLAYGROUND_ENGLISH = { ...SHARED_ENGLISH, ...OWN_ENGLISH };

export type PlaygroundWords = Readonly<Record<keyof typeof PLAYGROUND_ENGLISH, string>>;
