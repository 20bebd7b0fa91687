/** The texts about a person who answers the visitor in place of the bot. */
export const HANDOFF_ENGLISH = {
  askPerson: "Talk to a person",
  waiting: "Waiting for a person…",
  joined: "{name} has joined the chat.",
  left: "{name} has left the chat.",
  botAgain: "The assistant answers again.",
  nobody: "Nobody is available right now.",
} as const;
