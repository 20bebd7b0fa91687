/** A visitor's message to a bot. */
export const TURN_REQUEST = {
  turnId: "0195c1f0-0000-7000-8000-000000000001",
  workspaceId: "ws",
  botId: "bot",
  source: "widget" as const,
  sessionId: "0195c1f0-0000-7000-8000-000000000002",
  message: "Hello",
  visitorId: "",
  visitorVerified: false,
  visitorMetadata: "",
  referrer: "",
  userAgent: "",
  acceptLanguage: "",
  consentVersion: "",
  client: new Uint8Array(),
};
