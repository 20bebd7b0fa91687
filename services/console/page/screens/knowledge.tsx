import { KnowledgeAdminService } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { sourcesQuery } from "../api/queries.ts";
import { questionCheckQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { Preview } from "../components/preview.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { AddText } from "../knowledge/add-text.tsx";
import { AddUrl } from "../knowledge/add-url.tsx";
import { DropZone } from "../knowledge/drop-zone.tsx";
import { SourceRow } from "../knowledge/source-row.tsx";
import { TryQuestion } from "../knowledge/try-question.tsx";
import { UploadList } from "../knowledge/upload-list.tsx";
import { useUploads } from "../knowledge/use-uploads.ts";

export function Knowledge() {
  const { workspace_id: workspaceId } = useSession();
  const { question = "", title = "" } = useSearch({ strict: false });
  const mayAdd = useMayCall(KnowledgeAdminService.method.addSource);
  const botSlug = useBotSlug();
  // These queries start before the list of bots is loaded, so that one batch contains their two calls and the call for the list.
  useQuery(sourcesQuery(workspaceId, botSlug));
  useQuery(questionCheckQuery(workspaceId, botSlug, question));
  return (
    <BotScreen title="Knowledge" intro="Documents that the bot answers from." path="/knowledge" isWide>
      {({ slug, display }) => (
        <div className="editor">
          <div className="form" key={slug}>
            {mayAdd && <AddDocuments botSlug={slug} suggestedTitle={title} />}
            <Documents botSlug={slug} mayAdd={mayAdd} />
            <TryQuestion botSlug={slug} question={question} />
          </div>
          <aside className="preview" aria-label="Try it">
            <h2>Try it</h2>
            <p className="hint">Ask about a document. The bot's answers count towards this month's messages.</p>
            {display && <Preview key={slug} botSlug={slug} display={display} />}
          </aside>
        </div>
      )}
    </BotScreen>
  );
}

function AddDocuments({ botSlug, suggestedTitle }: { botSlug: string; suggestedTitle: string }) {
  const { uploads, addFiles, clearFinished } = useUploads(botSlug);
  return (
    <>
      <DropZone onFiles={(files) => void addFiles(files)} />
      {uploads.length > 0 && <UploadList uploads={uploads} onClear={clearFinished} />}
      <AddUrl botSlug={botSlug} />
      <AddText key={suggestedTitle} botSlug={botSlug} suggestedTitle={suggestedTitle} />
    </>
  );
}

function Documents({ botSlug, mayAdd }: { botSlug: string; mayAdd: boolean }) {
  const { workspace_id: workspaceId } = useSession();
  const { data, error, refetch } = useQuery(sourcesQuery(workspaceId, botSlug));
  return (
    <section className="panel" aria-labelledby="documents">
      <h2 id="documents">
        Documents {data && data.sources.length > 0 && <span className="count">{data.sources.length}</span>}
      </h2>
      {data?.usage?.maxDocuments !== undefined && data.usage.maxCharacters !== undefined && (
        <p className="hint">
          All bots together have {data.usage.documents.toLocaleString()} of {data.usage.maxDocuments.toLocaleString()}{" "}
          documents and {data.usage.characters.toLocaleString()} of {data.usage.maxCharacters.toLocaleString()}{" "}
          characters.
        </p>
      )}
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {data?.sources.length === 0 && (
        <Empty icon="book" title="No document yet">
          {mayAdd ? "Drop a file above, or add the address of a page." : "An owner of the workspace can add one."}
        </Empty>
      )}
      {data && data.sources.length > 0 && (
        <ul className="rows">
          {data.sources.map((source) => (
            <SourceRow
              key={source.name}
              source={source}
              botSlug={botSlug}
              hasEmbeddings={data.embeddings?.state === "on"}
            />
          ))}
        </ul>
      )}
    </section>
  );
}
