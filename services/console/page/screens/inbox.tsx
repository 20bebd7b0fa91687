import "../conversations/conversations.css";
import "../inbox/inbox.css";
import { HandoffService } from "@parley/rpc/conversation";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useBots } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { PageHeader } from "../components/page-header.tsx";
import { Empty, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { AlertsButton } from "../inbox/alerts-button.tsx";
import { type HandedOff, ownOf, useHandoffs, waitingOf, withContact } from "../inbox/handoffs-store.ts";
import { InboxRow } from "../inbox/inbox-row.tsx";
import { OfflineHandoffs } from "../inbox/offline-handoffs.tsx";

const route = getRouteApi("/shell/inbox");

const TABS = [
  ["waiting", t("Waiting")],
  ["mine", t("Mine")],
  ["left", t("Messages left")],
  ["all", t("All open")],
] as const;

/** The conversations that wait for a person, have one, or have a message for the team. */
export function Inbox() {
  const { show = "waiting" } = route.useSearch();
  const { agent_id: agentId } = useSession();
  const { data: bots = [] } = useBots();
  const { conversations, isOffline } = useHandoffs();
  const mayAnswer = useMayCall(HandoffService.method.changeHandoff);
  const groups: Readonly<Record<string, readonly HandedOff[]>> = {
    waiting: waitingOf(conversations),
    mine: ownOf(conversations, agentId),
    left: withContact(conversations),
    all: conversations ?? [],
  };
  const shown = groups[show] ?? [];
  const waiting = groups.waiting?.length ?? 0;
  return (
    <div className="screen">
      <PageHeader title={t("Inbox")} count={waiting} actions={mayAnswer && <AlertsButton />}>
        {t("Visitors who wait for a person of your team, or talk to one.")}
      </PageHeader>
      <nav aria-label={t("Show")} className="tabs">
        {TABS.map(([name, label]) => (
          <Link
            key={name}
            to="/inbox"
            search={name === "waiting" ? {} : { show: name }}
            className="button"
            activeOptions={{ exact: true }}
          >
            {label} <span className="count">{groups[name]?.length}</span>
          </Link>
        ))}
      </nav>
      <p className="visually-hidden" role="status">
        {conversations && t("Waiting: {count}", { count: waiting })}
      </p>
      {isOffline && <OfflineHandoffs />}
      {!conversations && !isOffline && <Loading />}
      {conversations && shown.length === 0 && <Nothing show={show} />}
      {shown.length > 0 && (
        <ul className="rows panel flush" aria-label={t("Inbox")}>
          {shown.map((each) => (
            <InboxRow key={each.id} conversation={each} bots={bots} />
          ))}
        </ul>
      )}
    </div>
  );
}

function Nothing({ show }: { show: string }) {
  return (
    <Empty icon="inbox" title={show === "mine" ? t("You answer nobody") : t("Nobody waits")}>
      {show !== "left" && t("A visitor who asks for a person appears here at once.")}
    </Empty>
  );
}
