/** Tells the streams of a session's visitor that something is new, or that a person of the team is typing. */
export type LiveSignal = { workspaceId: string; sessionId: string } & (
  | { type: "changed" }
  | { type: "typing"; name: string }
);
