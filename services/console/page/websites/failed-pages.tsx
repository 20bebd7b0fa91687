import type { Site } from "@parley/rpc/conversation";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { codeText } from "../api/error-text.ts";
import { ShowMore } from "../components/show-more.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { type BotRef, failedPagesQuery } from "./website-queries.ts";

/** The pages that could not be read, each with the reason. */
export function FailedPages({ bot, site }: { bot: BotRef; site: Site }) {
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    failedPagesQuery(bot, site),
  );
  const list = useRef<HTMLUListElement>(null);
  if (error && !data) return <Failure error={error} onRetry={refetch} />;
  if (!data) return <Loading />;
  return (
    <>
      <ul ref={list} className="failed-pages">
        {data.pages
          .flatMap((page) => page.pages)
          .map(({ url, code, reason }) => (
            <li key={url}>
              <bdi>{url}</bdi>
              <small>{codeText(code) ?? reason}</small>
            </li>
          ))}
      </ul>
      {hasNextPage && <ShowMore list={list} fetchNextPage={fetchNextPage} isFetching={isFetchingNextPage} />}
    </>
  );
}
