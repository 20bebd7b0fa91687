import "../conversations/conversations.css";
import type { Bot } from "@parley/rpc/conversation";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useRef } from "react";
import { type Conversation, type ConversationFilters, listConversations } from "../api/conversations.ts";
import { useBots } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { formatDateTime } from "../components/dates.ts";
import { Icon } from "../components/icon.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { ShowMore } from "../components/show-more.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { describePage } from "../conversations/describe-visit.ts";
import { ExportMenu } from "../conversations/export-menu.tsx";
import { Filters } from "../conversations/filters.tsx";
import { Rating } from "../conversations/rating.tsx";
import { ReviewBadge } from "../conversations/review.tsx";

const route = getRouteApi("/shell/conversations");

export function Conversations() {
  const filters = route.useSearch();
  const navigate = useNavigate();
  const { workspace_id: workspaceId } = useSession();
  const { data: bots = [] } = useBots();
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["conversations", workspaceId, filters],
    queryFn: ({ pageParam }) => listConversations(filters, pageParam),
    initialPageParam: "",
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const list = useRef<HTMLUListElement>(null);
  const found = data?.pages.flatMap(({ conversations }) => conversations);
  return (
    <div className="screen">
      <PageHeader title="Conversations" actions={<ExportMenu filters={filters} />}>
        What visitors asked and what your bots answered, newest first.
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
        <ul ref={list} className="rows panel flush" aria-label="Conversations">
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
          label={filters.q === undefined ? "Show more" : "Search further back"}
        />
      )}
    </div>
  );
}

/** Returns a text for screen readers. */
function describeCount(count: number, hasMore: boolean): string {
  const conversations = count === 1 ? "1 conversation" : `${count.toLocaleString()} conversations`;
  return hasMore ? `${conversations} shown. There are more.` : `${conversations} found.`;
}

function ConversationRow({ conversation, bots }: { conversation: Conversation; bots: readonly Bot[] }) {
  const {
    id,
    visitor_id: visitor,
    bot_slug: slug,
    message_count: count,
    rating,
    review,
    source,
    referrer,
    excerpt,
  } = conversation;
  const facts = [
    visitor || "Unnamed visitor",
    bots.find((each) => each.slug === slug)?.display?.name || slug,
    count === 1 ? "1 message" : `${count.toLocaleString()} messages`,
    describePage(referrer),
  ];
  return (
    <li>
      <Link to="/conversations/$id" params={{ id }} className="row conversation">
        <span className="row-icon">
          <Icon name={visitor === "" ? "chat" : "user"} />
        </span>
        <span className="row-text">
          <span className="row-title">
            <strong className="excerpt" dir="auto">
              {excerpt || "No text"}
            </strong>
            {source === "playground" && <span className="badge neutral">Playground</span>}
            <Rating rating={rating} />
            <ReviewBadge review={review} />
          </span>
          <small>{facts.filter(Boolean).join(" · ")}</small>
        </span>
        <small className="muted">{formatDateTime(conversation.last_activity_at)}</small>
        <Icon name="chevronRight" />
      </Link>
    </li>
  );
}

function NothingFound({ filters, isComplete }: { filters: ConversationFilters; isComplete: boolean }) {
  if (!isComplete)
    return (
      <Empty icon="chat" title="Nothing found so far">
        The newest conversations do not match. Older ones have not been searched yet.
      </Empty>
    );
  const isFiltered = Object.keys(filters).length > 0;
  return (
    <Empty icon="chat" title={isFiltered ? "No conversation matches" : "No conversation yet"}>
      {isFiltered
        ? "Remove a filter to see more."
        : "Conversations appear here as soon as a visitor asks one of your bots."}
    </Empty>
  );
}
