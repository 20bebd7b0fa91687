import "../conversations/conversations.css";
import { type Bot, SessionAdminService, type SessionSummary } from "@parley/rpc/conversation";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { type ConversationFilters, listConversations } from "../api/conversations.ts";
import { useBots } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { PageHeader } from "../components/page-header.tsx";
import { ShowMore } from "../components/show-more.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { ConversationLink } from "../conversations/conversation-link.tsx";
import { describePage } from "../conversations/describe-visit.ts";
import { ExportMenu } from "../conversations/export-menu.tsx";
import { Filters } from "../conversations/filters.tsx";
import { Rating } from "../conversations/rating.tsx";
import { ReviewBadge } from "../conversations/review.tsx";
import { VisitorBadge } from "../conversations/visitor.tsx";
import { plural, t } from "../i18n/t.tsx";

const route = getRouteApi("/shell/conversations");

export function Conversations() {
  const filters = route.useSearch();
  const navigate = useNavigate();
  const { workspace_id: workspaceId } = useSession();
  const mayExport = useMayCall(SessionAdminService.method.exportSessions);
  const { data: bots = [] } = useBots();
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["conversations", workspaceId, filters],
    queryFn: ({ pageParam }) => listConversations(workspaceId, filters, pageParam),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
  });
  const list = useRef<HTMLUListElement>(null);
  const found = data?.pages.flatMap(({ sessions }) => sessions);
  return (
    <div className="screen">
      <PageHeader title={t("Conversations")} actions={mayExport && <ExportMenu filters={filters} />}>
        {t("What visitors asked and what your bots answered, newest first.")}
      </PageHeader>
      <Filters
        filters={filters}
        bots={bots}
        onChange={(changed) => void navigate({ to: "/conversations", search: changed })}
      />
      <p className="visually-hidden" role="status">
        {found && describeCount(found.length, hasNextPage)}
      </p>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {found?.length === 0 && <NothingFound filters={filters} isComplete={!hasNextPage} />}
      {found && found.length > 0 && (
        <ul ref={list} className="rows panel flush" aria-label={t("Conversations")}>
          {found.map((each) => (
            <ConversationRow key={each.id} conversation={each} bots={bots} />
          ))}
        </ul>
      )}
      {data && error && <Failure error={error} />}
      {hasNextPage && (
        <ShowMore
          list={list}
          fetchNextPage={fetchNextPage}
          isFetching={isFetchingNextPage}
          label={filters.q === undefined ? t("Show more") : t("Search further back")}
        />
      )}
    </div>
  );
}

/** Returns a text for screen readers. */
function describeCount(count: number, hasMore: boolean): string {
  return hasMore
    ? plural(count, "{count} conversation shown. There are more.", "{count} conversations shown. There are more.")
    : plural(count, "{count} conversation found.", "{count} conversations found.");
}

function ConversationRow({ conversation, bots }: { conversation: SessionSummary; bots: readonly Bot[] }) {
  const {
    id,
    visitorId: visitor,
    botSlug: slug,
    messageCount: count,
    rating,
    review,
    source,
    referrer,
    excerpt,
  } = conversation;
  const facts = [plural(count, "{count} message", "{count} messages"), describePage(referrer)];
  const row = { id, visitor, slug, bots, excerpt, facts, time: conversation.lastActivityAt };
  return (
    <ConversationLink to="/conversations/$id" {...row}>
      {source === "playground" && <span className="badge neutral">{t("Playground")}</span>}
      <VisitorBadge session={conversation} />
      <Rating rating={rating} />
      <ReviewBadge review={review} />
    </ConversationLink>
  );
}

function NothingFound({ filters, isComplete }: { filters: ConversationFilters; isComplete: boolean }) {
  if (!isComplete)
    return (
      <Empty icon="chat" title={t("Nothing found so far")}>
        {t("The newest conversations do not match. Older ones have not been searched yet.")}
      </Empty>
    );
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Empty icon="chat" title={isFiltered ? t("No conversation matches") : t("No conversation yet")}>
      {isFiltered
        ? t("Remove a filter to see more.")
        : t("Conversations appear here as soon as a visitor asks one of your bots.")}
    </Empty>
  );
}
