import type { Bot } from "@parley/rpc/conversation";
import { Link } from "@tanstack/react-router";
import type { ComponentProps, ReactNode } from "react";
import { formatDateTime } from "../components/dates.ts";
import { FactLine } from "../components/facts.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

type ConversationLinkProps = {
  to: "/conversations/$id" | "/inbox/$id";
  id: string;
  visitor: string;
  /** The short name of the bot. */
  slug: string;
  bots: readonly Bot[];
  excerpt: string;
  /** What the row says besides the visitor and the bot. */
  facts?: ComponentProps<typeof FactLine>["facts"];
  time: Parameters<typeof formatDateTime>[0];
  /** The badges. */
  children: ReactNode;
};

/** A conversation in a list: a link with the text that tells it from others. */
export function ConversationLink({
  to,
  id,
  visitor,
  slug,
  bots,
  excerpt,
  facts = [],
  time,
  children,
}: ConversationLinkProps) {
  const botName = bots.find((each) => each.slug === slug)?.display?.name || slug;
  return (
    <li>
      <Link to={to} params={{ id }} className="row conversation">
        <span className="row-icon">
          <Icon name={visitor === "" ? "chat" : "user"} />
        </span>
        <span className="row-text">
          <span className="row-title">
            <strong className="excerpt" dir="auto">
              {excerpt || t("No text")}
            </strong>
            {children}
          </span>
          <small>
            <FactLine facts={[visitor || t("Unnamed visitor"), botName, ...facts]} />
          </small>
        </span>
        <small className="muted">{formatDateTime(time)}</small>
        <Icon name="chevronRight" />
      </Link>
    </li>
  );
}
