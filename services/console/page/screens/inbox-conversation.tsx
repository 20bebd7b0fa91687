import "../conversations/conversations.css";
import "../inbox/inbox.css";
import { HandoffService } from "@parley/rpc/conversation";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { turns as turnsClient } from "../api/clients.ts";
import { parleyCodeOf } from "../api/error-text.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { Breadcrumb } from "../components/breadcrumb.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { notesQuery } from "../conversations/notes-query.ts";
import { Transcript } from "../conversations/transcript.tsx";
import { describeVerification } from "../conversations/visitor.tsx";
import { t } from "../i18n/t.tsx";
import { Composer } from "../inbox/composer.tsx";
import { ContactMessages } from "../inbox/contact-messages.tsx";
import { WaitingTime } from "../inbox/elapsed.tsx";
import { HandoffActions } from "../inbox/handoff-actions.tsx";
import { HandoffLabel } from "../inbox/handoff-label.tsx";
import { useHandoffs, waitingOf } from "../inbox/handoffs-store.ts";
import { NewMessage } from "../inbox/new-message.tsx";
import { AddNote } from "../inbox/note-form.tsx";
import { OfflineHandoffs } from "../inbox/offline-handoffs.tsx";

const route = getRouteApi("/shell/inbox/$id");
const PAGE_TURNS = 100;

/** A conversation with a visitor, and the field to answer. */
export function InboxConversation() {
  const { id } = route.useParams();
  return <Answering key={id} sessionId={id} />;
}

function Answering({ sessionId }: { sessionId: string }) {
  const { workspace_id: workspaceId, agent_id: agentId } = useSession();
  const mayAnswer = useMayCall(HandoffService.method.changeHandoff);
  const { conversations, isOffline } = useHandoffs();
  const conversation = conversations?.find(({ id }) => id === sessionId);
  const query = useInfiniteQuery({
    queryKey: ["inbox-conversation", workspaceId, sessionId],
    queryFn: ({ pageParam }) =>
      turnsClient.listTurns({ workspaceId, sessionId, pageToken: pageParam, pageSize: PAGE_TURNS }),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
  });
  const { error, refetch, hasNextPage, fetchNextPage, isFetching } = query;
  // What was deleted or erased in the meantime is not shown any longer.
  const data = parleyCodeOf(error) === "session_not_found" ? undefined : query.data;
  const session = data?.pages[0]?.session;
  const title = session ? session.visitorId || t("Unnamed visitor") : t("Conversation");
  const notes = useQuery(notesQuery(workspaceId, sessionId));
  const queryClient = useQueryClient();
  const refresh = () => {
    void queryClient.invalidateQueries({ queryKey: ["inbox-conversation", workspaceId, sessionId] });
    void queryClient.invalidateQueries({ queryKey: notesQuery(workspaceId, sessionId).queryKey });
  };
  // The list tells when the conversation has something new.
  const version =
    conversation &&
    [conversation.since, conversation.last_activity_at, conversation.contact?.created_at, conversation.notes].join();
  const shownVersion = useRef(version);
  useEffect(() => {
    if (shownVersion.current !== version) refresh();
    shownVersion.current = version;
  });
  // The newest messages are on the last page.
  useEffect(() => {
    if (hasNextPage && !isFetching && !error) void fetchNextPage();
  }, [hasNextPage, isFetching, error, fetchNextPage]);
  const isOwn = conversation?.handoff.state === "assigned" && conversation.handoff.agent?.id === agentId;
  return (
    <div className="screen">
      <Breadcrumb title={title}>
        <Link to="/inbox" activeOptions={{ exact: true }}>
          {t("Inbox")}
        </Link>
      </Breadcrumb>
      <PageHeader
        title={title}
        count={waitingOf(conversations).length}
        actions={
          mayAnswer &&
          session &&
          conversations && (
            <>
              <AddNote sessionId={sessionId} />
              <HandoffActions sessionId={sessionId} conversation={conversation} onChanged={refresh} />
            </>
          )
        }
      >
        {session && describeVerification(session)}
      </PageHeader>
      {isOffline && <OfflineHandoffs />}
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {session && (
        <div className="handoff-state">
          <p role="status">{conversations && <HandoffLabel conversation={conversation} />}</p>
          {conversation?.handoff.state === "requested" && <WaitingTime since={conversation.since} />}
          <Link to="/conversations/$id" params={{ id: sessionId }}>
            {t("About this conversation")}
          </Link>
        </div>
      )}
      {session && <ContactMessages session={session} onChanged={refresh} />}
      {data && (
        <>
          <Transcript pages={data.pages} notes={notes.data} hasMore={hasNextPage} />
          {!notes.data && notes.error && <Failure error={notes.error} onRetry={notes.refetch} />}
          <NewMessage pages={data.pages} />
        </>
      )}
      {data && error && <Failure error={error} onRetry={refetch} />}
      {isOwn && mayAnswer && <Composer sessionId={sessionId} onSent={refresh} />}
    </div>
  );
}
