import {
  KnowledgeAdminService,
  type KnowledgeUsage,
  ListSourcesRequestSchema,
  type Source,
} from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type RefObject, useRef, useState } from "react";
import { useMayCall, useSession } from "../api/session.ts";
import { sourcesQuery } from "../api/source-queries.ts";
import { TextField } from "../components/field.tsx";
import { type NextPage, ShowMore } from "../components/show-more.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { useAfterPause } from "../components/use-after-pause.ts";
import { formatNumber } from "../i18n/numbers.ts";
import { plural, t } from "../i18n/t.tsx";
import { RemoveSelected } from "./remove-selected.tsx";
import { SourceRow } from "./source-row.tsx";
import "./documents.css";

/** How long the owner must pause before the list is searched. */
const SEARCH_DELAY_MS = 250;

export function Documents({ botSlug, mayAdd }: { botSlug: string; mayAdd: boolean }) {
  const { workspace_id: workspaceId } = useSession();
  const [typed, setTyped] = useState("");
  const query = useAfterPause(typed.trim(), SEARCH_DELAY_MS);
  const [hasSearched, setSearched] = useState(false);
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    sourcesQuery(workspaceId, botSlug, query),
  );
  const heading = useRef<HTMLHeadingElement>(null);
  const [first] = data?.pages ?? [];
  const sources = data?.pages.flatMap((page) => page.sources) ?? [];
  const matches = first?.matches ?? 0;
  const search = (text: string) => {
    setTyped(text);
    setSearched(true);
  };
  return (
    <section className="panel" aria-labelledby="documents">
      <h2 id="documents" ref={heading} tabIndex={-1}>
        {t("Documents")} {matches > 0 && <span className="count">{formatNumber(matches)}</span>}
      </h2>
      <Usage usage={first?.usage} />
      {(matches > 1 || hasSearched) && (
        <TextField
          label={t("Search by name")}
          type="search"
          maxLength={limitsOf(ListSourcesRequestSchema.field.query).max}
          value={typed}
          onChange={({ target }) => search(target.value)}
        />
      )}
      <p className="visually-hidden" role="status">
        {hasSearched && first && plural(matches, "{count} document found.", "{count} documents found.")}
      </p>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {first && sources.length === 0 && <NoDocument query={query} mayAdd={mayAdd} />}
      {sources.length > 0 && (
        <SourceList
          key={query}
          sources={sources}
          botSlug={botSlug}
          hasEmbeddings={first?.embeddings?.state === "on"}
          heading={heading}
          more={hasNextPage ? { fetchNextPage: () => fetchNextPage(), isFetching: isFetchingNextPage } : undefined}
        />
      )}
      {data && error && <Failure error={error} />}
    </section>
  );
}

function Usage({ usage }: { usage: KnowledgeUsage | undefined }) {
  if (usage?.maxDocuments === undefined || usage.maxCharacters === undefined) return null;
  const { documents, maxDocuments, characters, maxCharacters } = usage;
  return (
    <p className="hint">
      {t("All bots together have {documents} and {characters}.", {
        documents: plural(maxDocuments, "{part} of {count} document", "{part} of {count} documents", {
          part: documents,
        }),
        characters: plural(maxCharacters, "{part} of {count} character", "{part} of {count} characters", {
          part: characters,
        }),
      })}
    </p>
  );
}

function NoDocument({ query, mayAdd }: { query: string; mayAdd: boolean }) {
  if (query !== "")
    return (
      <Empty icon="search" title={t("No document matches")}>
        {t("No document has “{query}” in its name.", { query })}
      </Empty>
    );
  return (
    <Empty icon="book" title={t("No document yet")}>
      {mayAdd ? t("Drop a file above, or add the address of a page.") : t("An owner of the workspace can add one.")}
    </Empty>
  );
}

type SourceListProps = {
  sources: readonly Source[];
  botSlug: string;
  hasEmbeddings: boolean;
  /** Gets the focus when the selected documents are removed. */
  heading: RefObject<HTMLElement | null>;
  /** Absent if all documents are shown. */
  more: NextPage | undefined;
};

function SourceList({ sources, botSlug, hasEmbeddings, heading, more }: SourceListProps) {
  const mayRemove = useMayCall(KnowledgeAdminService.method.removeSource);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const list = useRef<HTMLUListElement>(null);
  const maySelect = mayRemove && sources.length > 1;
  // A chosen document may have been removed since.
  const selected = sources.map(({ name }) => name).filter((name) => chosen.has(name));
  const select = (name: string, isSelected: boolean) =>
    setChosen((before) => {
      const after = new Set(before);
      if (isSelected) after.add(name);
      else after.delete(name);
      return after;
    });
  return (
    <>
      {maySelect && (
        <div className="selection">
          <label>
            <input
              type="checkbox"
              className="checkbox"
              checked={selected.length === sources.length}
              onChange={({ target }) =>
                setChosen(new Set(target.checked ? sources.map(({ name }) => name) : undefined))
              }
            />
            {more ? plural(sources.length, "Select the {count} shown", "Select the {count} shown") : t("Select all")}
          </label>
          <RemoveSelected botSlug={botSlug} names={selected} onRemoved={() => heading.current?.focus()} />
        </div>
      )}
      <ul ref={list} className="rows" aria-labelledby="documents">
        {sources.map((source) => (
          <SourceRow
            key={source.name}
            source={source}
            botSlug={botSlug}
            hasEmbeddings={hasEmbeddings}
            isSelected={chosen.has(source.name)}
            onSelect={maySelect ? (isSelected) => select(source.name, isSelected) : undefined}
          />
        ))}
      </ul>
      {more && <ShowMore list={list} {...more} />}
    </>
  );
}
