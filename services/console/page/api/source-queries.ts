import { readPages } from "@parley/rpc/pages";
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { knowledge } from "./clients.ts";

const SOURCES_PER_PAGE = 50;
const NAMES_PER_PAGE = 500;

/** The key of every query about a bot's documents. */
export const sourcesKey = (workspaceId: string, botSlug: string) => ["sources", workspaceId, botSlug] as const;

/** A bot's documents whose name contains `query`, page by page. */
export const sourcesQuery = (workspaceId: string, botSlug: string, query = "") =>
  infiniteQueryOptions({
    queryKey: [...sourcesKey(workspaceId, botSlug), "pages", query],
    queryFn: ({ pageParam }) =>
      knowledge.listSources({ workspaceId, botSlug, query, pageSize: SOURCES_PER_PAGE, pageToken: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    placeholderData: keepPreviousData,
    enabled: botSlug !== "",
  });

/** The names of all of a bot's documents. */
export const sourceNamesQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: [...sourcesKey(workspaceId, botSlug), "names"],
    queryFn: async () => {
      const names: string[] = [];
      const readPage = (pageToken: string) =>
        knowledge.listSources({ workspaceId, botSlug, pageSize: NAMES_PER_PAGE, pageToken });
      for await (const { sources } of readPages(readPage)) names.push(...sources.map(({ name }) => name));
      return names;
    },
    enabled: botSlug !== "",
  });

/** A document, with the first page of its text as the bot reads it, then more. */
export const passagesQuery = (workspaceId: string, botSlug: string, name: string) =>
  infiniteQueryOptions({
    queryKey: [...sourcesKey(workspaceId, botSlug), "passages", name],
    queryFn: ({ pageParam }) => knowledge.getSource({ workspaceId, botSlug, name, pageToken: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    enabled: botSlug !== "" && name !== "",
  });

/** The number of a bot's documents. */
export const documentCountQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: [...sourcesKey(workspaceId, botSlug), "count"],
    queryFn: async () => (await knowledge.listSources({ workspaceId, botSlug, pageSize: 1 })).matches,
    enabled: botSlug !== "",
  });

export const sourceQuery = (workspaceId: string, botSlug: string, name: string) =>
  queryOptions({
    queryKey: [...sourcesKey(workspaceId, botSlug), "source", name],
    queryFn: () => knowledge.getSource({ workspaceId, botSlug, name, pageSize: 1 }),
  });
