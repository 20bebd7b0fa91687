import type { Bot } from "@parley/rpc/conversation";
import { ConversationLink } from "../conversations/conversation-link.tsx";
import { t } from "../i18n/t.tsx";
import { WaitingTime } from "./elapsed.tsx";
import { HandoffLabel } from "./handoff-label.tsx";
import type { HandedOff } from "./handoffs-store.ts";

export function InboxRow({ conversation, bots }: { conversation: HandedOff; bots: readonly Bot[] }) {
  const { id, visitor_id: visitor, bot_slug: slug, since, handoff, contact } = conversation;
  const isLeft = handoff.state === "bot" && contact !== undefined;
  const excerpt = isLeft ? contact.excerpt : conversation.excerpt;
  return (
    <ConversationLink
      to="/inbox/$id"
      {...{ id, visitor, slug, bots, excerpt }}
      facts={contact ? [contact.email] : []}
      time={since}
    >
      {handoff.state === "requested" && <WaitingTime since={since} />}
      {handoff.state === "assigned" && (
        <span className="badge neutral">
          <HandoffLabel conversation={conversation} />
        </span>
      )}
      {contact && <span className="badge waiting">{t("Waits for an e-mail")}</span>}
    </ConversationLink>
  );
}
