import type { Bot } from "@parley/rpc/conversation";
import { ConversationLink } from "../conversations/conversation-link.tsx";
import { WaitingTime } from "./elapsed.tsx";
import { HandoffLabel } from "./handoff-label.tsx";
import type { HandedOff } from "./handoffs-store.ts";

export function InboxRow({ conversation, bots }: { conversation: HandedOff; bots: readonly Bot[] }) {
  const { id, visitor_id: visitor, bot_slug: slug, excerpt, since, handoff } = conversation;
  return (
    <ConversationLink to="/inbox/$id" {...{ id, visitor, slug, bots, excerpt }} time={since}>
      {handoff.state === "requested" ? (
        <WaitingTime since={since} />
      ) : (
        <span className="badge neutral">
          <HandoffLabel conversation={conversation} />
        </span>
      )}
    </ConversationLink>
  );
}
