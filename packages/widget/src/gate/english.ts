/** The texts of what a visitor has to pass before a message is accepted. */
export const GATE_ENGLISH = {
  wait: "A lot of messages right now. Yours will be sent again in {n} s.",
  checking: "One moment, a security check is running…",
  consent: "Your consent",
  agree: "Agree",
  decline: "Decline",
  more: "More information",
} as const;
