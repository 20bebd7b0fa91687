import type { Bot } from "@parley/rpc/conversation";
import { Link } from "@tanstack/react-router";
import { formatDateTime } from "../components/dates.ts";
import { FactLine } from "../components/facts.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";
import { WaitingTime } from "./elapsed.tsx";
import { HandoffLabel } from "./handoff-label.tsx";
import type { HandedOff } from "./handoffs-store.ts";

export function InboxRow({ conversation, bots }: { conversation: HandedOff; bots: readonly Bot[] }) {
  const { id, visitor_id: visitor, bot_slug: slug, excerpt, since, handoff } = conversation;
  return (
    <li>
      <Link to="/inbox/$id" params={{ id }} className="row conversation">
        <span className="row-icon">
          <Icon name={visitor === "" ? "chat" : "user"} />
        </span>
        <span className="row-text">
          <span className="row-title">
            <strong className="excerpt" dir="auto">
              {excerpt || t("No text")}
            </strong>
            {handoff.state === "requested" ? (
              <WaitingTime since={since} />
            ) : (
              <span className="badge neutral">
                <HandoffLabel conversation={conversation} />
              </span>
            )}
          </span>
          <small>
            <FactLine
              facts={[visitor || t("Unnamed visitor"), bots.find((each) => each.slug === slug)?.display?.name || slug]}
            />
          </small>
        </span>
        <small className="muted">{formatDateTime(since)}</small>
        <Icon name="chevronRight" />
      </Link>
    </li>
  );
}
