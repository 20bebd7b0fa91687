import type { Site } from "@parley/rpc/conversation";
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { sites } from "../api/clients.ts";

/** While a website is read or removed, its progress is read this often. */
const PROGRESS_INTERVAL_MS = 2_000;
const PAGES_PER_PAGE = 50;

export type BotRef = { workspaceId: string; botSlug: string };

export const websitesQuery = ({ workspaceId, botSlug }: BotRef) =>
  queryOptions({
    queryKey: ["websites", workspaceId, botSlug],
    queryFn: async () => (await sites.listSites({ workspaceId, botSlug })).sites,
    refetchInterval: ({ state: { data } }) => (data?.some(isBusy) ? PROGRESS_INTERVAL_MS : false),
    enabled: botSlug !== "",
  });

/** The pages of a website that could not be read in its last run, which started at `startedAt`. */
export const failedPagesQuery = ({ workspaceId, botSlug }: BotRef, { id, startedAt }: Site) =>
  infiniteQueryOptions({
    queryKey: ["website-failures", workspaceId, botSlug, String(id), startedAt],
    queryFn: ({ pageParam }) =>
      sites.getSite({ workspaceId, botSlug, id, outcome: "failed", pageSize: PAGES_PER_PAGE, pageToken: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
  });

/** Returns whether a website is being read or removed. */
export function isBusy({ state }: Site): boolean {
  return state === "crawling" || state === "removing";
}
