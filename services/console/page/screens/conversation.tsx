import "../conversations/conversations.css";
import { type Bot, HandoffService, SessionAdminService, type SessionDetails } from "@parley/rpc/conversation";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRef } from "react";
import { turns as turnsClient } from "../api/clients.ts";
import { useBots } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { Breadcrumb } from "../components/breadcrumb.tsx";
import { formatDateTime } from "../components/dates.ts";
import { Facts } from "../components/facts.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { ShowMore } from "../components/show-more.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { DeleteConversation } from "../conversations/delete-conversation.tsx";
import { describeBrowser, describePage } from "../conversations/describe-visit.ts";
import { EraseVisitor } from "../conversations/erase-visitor.tsx";
import { notesQuery } from "../conversations/notes-query.ts";
import { Transcript } from "../conversations/transcript.tsx";
import { describeVerification } from "../conversations/visitor.tsx";
import { isolate } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";
import { ContactMessages } from "../inbox/contact-messages.tsx";
import { AddNote } from "../inbox/note-form.tsx";

const route = getRouteApi("/shell/conversations/$id");

export function Conversation() {
  const { id: sessionId } = route.useParams();
  const { question = "" } = route.useSearch();
  const { workspace_id: workspaceId } = useSession();
  const mayAnswer = useMayCall(HandoffService.method.changeHandoff);
  const mayErase = useMayCall(SessionAdminService.method.eraseVisitor);
  const mayDelete = useMayCall(SessionAdminService.method.deleteSession);
  // Fetched here and not in About, so that the requests for the bots and for the turns run in parallel.
  const { data: bots = [] } = useBots();
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["conversation", workspaceId, sessionId],
    queryFn: ({ pageParam }) => turnsClient.listTurns({ workspaceId, sessionId, pageToken: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
  });
  const { data: notes, error: notesError, refetch: refetchNotes } = useQuery(notesQuery(workspaceId, sessionId));
  const transcript = useRef<HTMLElement>(null);
  const session = data?.pages[0]?.session;
  const title = session ? session.visitorId || t("Unnamed visitor") : t("Conversation");
  const turns = data?.pages.flatMap((page) => page.turns);
  // The beginning of the question is in the URL. If it was asked more than once, the latest time counts.
  const askedTurn = question === "" ? undefined : turns?.findLast(({ message }) => message.startsWith(question));
  return (
    <div className="screen">
      <Breadcrumb title={title}>
        <Link to="/conversations" activeOptions={{ exact: true }}>
          {t("Conversations")}
        </Link>
      </Breadcrumb>
      <PageHeader
        title={title}
        actions={
          session && (
            <>
              {mayAnswer && session.source === "widget" && (
                <Link to="/inbox/$id" params={{ id: sessionId }} className="button">
                  {t("Answer the visitor")}
                </Link>
              )}
              {mayAnswer && <AddNote sessionId={sessionId} />}
              {mayErase && session.visitorId !== "" && <EraseVisitor visitorId={session.visitorId} />}
              {mayDelete && <DeleteConversation sessionId={sessionId} />}
            </>
          )
        }
      >
        {session && describeVerification(session)}
      </PageHeader>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {session && <About session={session} bots={bots} />}
      {session && <ContactMessages session={session} onChanged={() => void refetch()} />}
      <Transcript ref={transcript} pages={data?.pages ?? []} {...{ askedTurn, notes }} hasMore={hasNextPage} />
      {data && !notes && notesError && <Failure error={notesError} onRetry={refetchNotes} />}
      {data && error && <Failure error={error} />}
      {hasNextPage && (
        <ShowMore
          list={transcript}
          fetchNextPage={fetchNextPage}
          isFetching={isFetchingNextPage}
          label={t("Show later messages")}
        />
      )}
    </div>
  );
}

/** Empty if the visitor has agreed to nothing. */
function describeConsent({ consentVersion, consentedAt }: SessionDetails): string {
  if (consentVersion === "") return "";
  return t("Version {version}, {time}", { version: isolate(consentVersion), time: formatDateTime(consentedAt) });
}

function About({ session, bots }: { session: SessionDetails; bots: readonly Bot[] }) {
  const metadata = Object.entries(JSON.parse(session.visitorMetadata) as Record<string, unknown>);
  const facts: [string, string][] = [
    [t("Bot"), bots.find(({ slug }) => slug === session.botSlug)?.display?.name || session.botSlug],
    [t("Where"), session.source === "playground" ? t("Playground") : t("On a site")],
    [t("Started"), formatDateTime(session.startedAt)],
    [t("Last message"), formatDateTime(session.lastActivityAt)],
    [t("Page"), describePage(session.referrer)],
    [t("Browser"), describeBrowser(session.userAgent)],
    [t("Consent"), describeConsent(session)],
    ...metadata.map(([name, value]): [string, string] => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  ];
  return (
    <section className="panel" aria-label={t("About this conversation")}>
      <Facts facts={facts} />
    </section>
  );
}
