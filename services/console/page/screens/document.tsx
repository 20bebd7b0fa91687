import { KnowledgeAdminService, type Source } from "@parley/rpc/conversation";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { parleyCodeOf } from "../api/error-text.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { passagesQuery } from "../api/source-queries.ts";
import { Breadcrumb } from "../components/breadcrumb.tsx";
import { resolveBotSlug } from "../components/chosen-bot.ts";
import { formatDateTime } from "../components/dates.ts";
import { Facts } from "../components/facts.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { type NextPage, ShowMore } from "../components/show-more.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { plural, t } from "../i18n/t.tsx";
import { documentLanguage } from "../knowledge/document-language.ts";
import { EditText } from "../knowledge/edit-text.tsx";
import { RemoveDocument } from "../knowledge/remove-document.tsx";
import { RenameDocument } from "../knowledge/rename-document.tsx";
import { ReplaceDocument } from "../knowledge/replace-document.tsx";
import "../knowledge/documents.css";

const route = getRouteApi("/shell/knowledge/document");

/** A document: its text as the bot reads it, and what an owner can do with it. */
export function Document() {
  const { bot, name = "" } = route.useSearch();
  const botSlug = resolveBotSlug(bot);
  const { workspace_id: workspaceId } = useSession();
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(
    passagesQuery(workspaceId, botSlug, name),
  );
  const [isEditing, setEditing] = useState(false);
  const source = data?.pages[0]?.source;
  const isMissing = name === "" || botSlug === "" || (!data && isNotFound(error));
  return (
    <div className="screen">
      <Breadcrumb title={name}>
        <Link to="/knowledge" search={{ bot: botSlug }} activeOptions={{ exact: true }}>
          {t("Knowledge")}
        </Link>
      </Breadcrumb>
      <PageHeader
        title={name || t("Document")}
        actions={source && !isEditing && <Actions botSlug={botSlug} source={source} onEdit={() => setEditing(true)} />}
      />
      {isMissing && (
        <Empty
          icon="file"
          title={t("No such document")}
          action={
            <Link to="/knowledge" search={{ bot: botSlug }} className="button">
              {t("All documents")}
            </Link>
          }
        >
          {t("The bot has no document of this name. It may have been renamed or removed.")}
        </Empty>
      )}
      {error && !data && !isMissing && <Failure error={error} onRetry={refetch} />}
      {!error && !data && !isMissing && <Loading />}
      {source && <About source={source} />}
      {source && isEditing && (
        <EditText key={source.name} botSlug={botSlug} name={source.name} onClose={() => setEditing(false)} />
      )}
      {data && !isEditing && (
        <Passages
          passages={data.pages.flatMap((page) => page.passages)}
          more={hasNextPage ? { fetchNextPage: () => fetchNextPage(), isFetching: isFetchingNextPage } : undefined}
        />
      )}
      {data && error && <Failure error={error} />}
    </div>
  );
}

function isNotFound(error: unknown): boolean {
  return ["source_not_found", "bot_not_found"].includes(parleyCodeOf(error) ?? "");
}

type ActionsProps = { botSlug: string; source: Source; onEdit: () => void };

let shouldFocusEdit = false;

function Actions({ botSlug, source, onEdit }: ActionsProps) {
  const mayAdd = useMayCall(KnowledgeAdminService.method.addSource);
  const mayRename = useMayCall(KnowledgeAdminService.method.renameSource);
  const mayRemove = useMayCall(KnowledgeAdminService.method.removeSource);
  const edit = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // When the editor closes, the focus returns to the button that opened it.
    if (shouldFocusEdit) edit.current?.focus();
    shouldFocusEdit = false;
  }, []);
  const startEdit = () => {
    shouldFocusEdit = true;
    onEdit();
  };
  return (
    <>
      {mayAdd && source.hasText && (
        <button ref={edit} type="button" className="button" onClick={startEdit}>
          {t("Edit")}
        </button>
      )}
      {mayRename && <RenameDocument botSlug={botSlug} name={source.name} />}
      {mayAdd && <ReplaceDocument botSlug={botSlug} source={source} />}
      {mayRemove && <RemoveDocument botSlug={botSlug} name={source.name} />}
    </>
  );
}

function About({ source }: { source: Source }) {
  const facts: [string, string][] = [
    [t("Format"), source.format.toUpperCase()],
    [
      t("Length"),
      [
        plural(source.characters, "{count} character", "{count} characters"),
        plural(source.chunks, "{count} passage", "{count} passages"),
      ].join(", "),
    ],
    [t("Language"), documentLanguage(source.language)],
    [t("Added or changed"), formatDateTime(source.updatedAt)],
    [t("Address"), source.url],
  ];
  return (
    <section className="panel" aria-label={t("About this document")}>
      <Facts facts={facts} />
    </section>
  );
}

type PassagesProps = {
  passages: readonly { heading: string; text: string }[];
  more: NextPage | undefined;
};

function Passages({ passages, more }: PassagesProps) {
  const list = useRef<HTMLOListElement>(null);
  return (
    <section className="panel" aria-labelledby="text">
      <h2 id="text">{t("Text")}</h2>
      <p className="hint">{t("As the bot reads it, in the passages that its search finds.")}</p>
      <ol ref={list} className="document-text">
        {passages.map(({ heading, text }, index) => (
          <li key={index}>
            {heading !== "" && <h3>{heading}</h3>}
            <p>{text}</p>
          </li>
        ))}
      </ol>
      {more && <ShowMore list={list} {...more} />}
    </section>
  );
}
