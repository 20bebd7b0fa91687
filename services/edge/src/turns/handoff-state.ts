import { type Handoff, HandoffState as ProtoState } from "@parley/rpc/conversation";
import Type, { type Static } from "typebox";

export const MessageAgent = Type.Object(
  { name: Type.String({ description: "The name of the person." }) },
  {
    title: "MessageAgent",
    description: "The person of the team who wrote the message; absent for all other messages.",
  },
);

/** Who answers the visitor of a session, as visitors get it. */
export const HandoffState = Type.Object(
  {
    state: Type.Enum(["bot", "requested", "assigned"], {
      description: "Who answers: the bot, nobody because the visitor waits for a person, or a person.",
    }),
    reason: Type.Enum(
      [
        ...["", "visitor", "model", "declined", "badly_rated", "taken", "assigned"],
        ...["resolved", "missed", "unanswered", "inactive", "closed"],
      ],
      {
        description:
          "Why: who asked for a person (`visitor`, `model`, or a rule of the bot: `declined`, `badly_rated`); `taken` or `assigned`; or why the bot answers: `resolved`, `missed` (nobody came in time), `unanswered` (the person did not answer in time), `inactive` (nobody wrote for long), `closed` (asked outside of the hours), or empty if nobody asked.",
      },
    ),
    expires_in_ms: Type.Integer({
      minimum: 0,
      description: "Of `requested`: how long the visitor still waits; otherwise 0.",
    }),
    agent: Type.Optional(
      Type.Object(
        { name: Type.String() },
        { description: "The person who answers, or was the last to do so; absent if there was none." },
      ),
    ),
    contact_pending: Type.Boolean({
      description: "Whether the visitor has left a message with `/api/chat/contact/` that the team is not done with.",
    }),
  },
  { title: "HandoffState" },
);

export type HandoffBody = Static<typeof HandoffState>;

const STATES: Readonly<Record<ProtoState, HandoffBody["state"]>> = {
  [ProtoState.UNSPECIFIED]: "bot",
  [ProtoState.BOT]: "bot",
  [ProtoState.REQUESTED]: "requested",
  [ProtoState.ASSIGNED]: "assigned",
};

export function toHandoffBody({ state, reason, expiresInMs, agent, contactPending }: Handoff): HandoffBody {
  return {
    state: STATES[state] ?? "bot",
    reason: reason as HandoffBody["reason"],
    expires_in_ms: expiresInMs,
    contact_pending: contactPending,
    ...(agent && { agent: { name: agent.name } }),
  };
}
