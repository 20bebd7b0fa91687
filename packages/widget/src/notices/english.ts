/** The texts of notices about a failed message, but for those that the panel shows without a connection. */
export const NOTICES_ENGLISH = {
  busy: "The assistant is busy right now. Please try again in a moment.",
  limit: "The limit of messages for 24 hours has been reached. Please try again later, in 24 hours at the latest.",
  slow: "The answer took too long. Please try again.",
  refused: "This message could not be sent.",
  long: "This message is too long. It can have at most 4,000 characters.",
  unconfirmed: "This page could not confirm who you are. Please try again, or sign in again.",
  closed: "This chat is not available at the moment.",
  quota: "The assistant cannot answer any more messages this month. Please contact us in another way.",
  ended: "The earlier conversation has ended. This is a new one.",
} as const;
