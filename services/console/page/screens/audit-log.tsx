import type { AuditLogEntry } from "@parley/rpc/access";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { auditLogs } from "../api/clients.ts";
import { useBots } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { describeEntry } from "../audit-log/describe-entry.tsx";
import { mergeEntries } from "../audit-log/merge-entries.ts";
import { toBotNames } from "../components/bot-names.ts";
import { formatDateTime } from "../components/dates.ts";
import { Icon } from "../components/icon.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { ShowMore } from "../components/show-more.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";

const PAGE_SIZE = 50;
const NO_MORE_ENTRIES = { entries: [], nextPageToken: "" };

export function AuditLog() {
  return (
    <div className="screen">
      <PageHeader title={t("Audit log")}>
        {t(
          "Who changed what in this workspace. Entries are kept for 400 days. They contain names, but never texts of yours or of visitors.",
        )}
      </PageHeader>
      <Entries />
    </div>
  );
}

function Entries() {
  const { workspace_id: workspaceId } = useSession();
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["audit-log", workspaceId],
    // `pageParam` has one page token for each service's log. The token is undefined if that log has no further page.
    queryFn: ({ pageParam }) =>
      Promise.all(
        auditLogs.map((log, index) => {
          const pageToken = pageParam[index];
          return pageToken === undefined
            ? NO_MORE_ENTRIES
            : log.listAuditLogEntries({ workspaceId, pageSize: PAGE_SIZE, pageToken });
        }),
      ),
    initialPageParam: auditLogs.map(() => "") as (string | undefined)[],
    getNextPageParam: (page) => {
      const tokens = page.map(({ nextPageToken }) => nextPageToken || undefined);
      return tokens.some((each) => each !== undefined) ? tokens : undefined;
    },
  });
  const list = useRef<HTMLUListElement>(null);
  // Bots without a name on the list, such as deleted ones, are named by their slugs.
  const botNames = new Map(toBotNames(useBots().data ?? []));
  const entries =
    data &&
    mergeEntries(
      auditLogs.map((_, index) => ({
        entries: data.pages.flatMap((page) => page[index]?.entries ?? []),
        isComplete: !data.pages.at(-1)?.[index]?.nextPageToken,
      })),
    );
  return (
    <>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {entries?.length === 0 && (
        <Empty icon="clock" title={t("No change yet")}>
          {t("Each change of a bot, its knowledge, keys or conversations appears here.")}
        </Empty>
      )}
      {entries && entries.length > 0 && (
        <ul ref={list} className="rows panel flush" aria-label={t("Changes")}>
          {entries.map((entry, index) => (
            // Entries have no id. The index can be the key, because a row has no state.
            <EntryRow key={index} entry={entry} botNames={botNames} />
          ))}
        </ul>
      )}
      {data && error && <Failure error={error} />}
      {hasNextPage && <ShowMore list={list} fetchNextPage={fetchNextPage} isFetching={isFetchingNextPage} />}
    </>
  );
}

type EntryRowProps = { entry: AuditLogEntry; botNames: ReadonlyMap<string, string> };

function EntryRow({ entry, botNames }: EntryRowProps) {
  const { action, details } = describeEntry(entry, botNames);
  return (
    <li className="row">
      <span className="row-icon">
        <Icon name={entry.member === "" ? "shield" : "user"} />
      </span>
      <span className="row-text">
        <span>{action}</span>
        {details.length > 0 && <small>{details.join(" · ")}</small>}
        <small>
          {entry.member || t("Operator")} · <time dateTime={entry.changedAt}>{formatDateTime(entry.changedAt)}</time>
        </small>
      </span>
    </li>
  );
}
