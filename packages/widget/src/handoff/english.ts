/** The texts about a person who answers the visitor in place of the bot. */
export const HANDOFF_ENGLISH = {
  askPerson: "Talk to a person",
  waiting: "Waiting for a person…",
  joined: "{name} has joined the chat.",
  left: "{name} has left the chat.",
  botAgain: "The assistant answers again.",
  nobody: "Nobody is available right now.",
  leave: "Leave a message, and the team answers by e-mail.",
  email: "E-mail address",
  toTeam: "Message for the team",
  badEmail: "Enter an e-mail address like name@example.com.",
  noText: "Write a message first.",
  messageSent: "Your message was sent. The team answers by e-mail.",
  tooMany: "You have already left three messages. The team answers by e-mail.",
  notNow: "Not now",
} as const;
