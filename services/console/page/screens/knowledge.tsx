import { KnowledgeAdminService } from "@parley/rpc/conversation";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { questionCheckQuery } from "../api/question-queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { sourcesQuery } from "../api/source-queries.ts";
import { BotScreen, useBotSlug } from "../components/bot-screen.tsx";
import { Preview } from "../components/preview.tsx";
import { t } from "../i18n/t.tsx";
import { AddText } from "../knowledge/add-text.tsx";
import { AddUrl } from "../knowledge/add-url.tsx";
import { Documents } from "../knowledge/documents.tsx";
import { DropZone } from "../knowledge/drop-zone.tsx";
import { TryQuestion } from "../knowledge/try-question.tsx";
import { UploadList } from "../knowledge/upload-list.tsx";
import { useUploads } from "../knowledge/use-uploads.ts";
import { Websites } from "../websites/websites.tsx";

export function Knowledge() {
  const { workspace_id: workspaceId } = useSession();
  const { question = "", title = "" } = useSearch({ strict: false });
  const mayAdd = useMayCall(KnowledgeAdminService.method.addSource);
  const botSlug = useBotSlug();
  // These queries start before the list of bots is loaded, so that the three requests run in parallel.
  useInfiniteQuery(sourcesQuery(workspaceId, botSlug));
  useQuery(questionCheckQuery(workspaceId, botSlug, question));
  return (
    <BotScreen title={t("Knowledge")} intro={t("Documents that the bot answers from.")} path="/knowledge" isWide>
      {({ slug, display }) => (
        <div className="editor">
          <div className="form" key={slug}>
            {mayAdd && <AddDocuments botSlug={slug} suggestedTitle={title} />}
            <Websites botSlug={slug} />
            <Documents botSlug={slug} mayAdd={mayAdd} />
            <TryQuestion botSlug={slug} question={question} />
          </div>
          <aside className="preview" aria-label={t("Try it")}>
            <h2>{t("Try it")}</h2>
            <p className="hint">{t("Ask about a document. The bot's answers count towards this month's messages.")}</p>
            {display && <Preview key={slug} botSlug={slug} display={display} />}
          </aside>
        </div>
      )}
    </BotScreen>
  );
}

function AddDocuments({ botSlug, suggestedTitle }: { botSlug: string; suggestedTitle: string }) {
  const { uploads, canRetry, addFiles, retryFailed, clear } = useUploads(botSlug);
  return (
    <>
      <DropZone onFiles={addFiles} />
      {uploads.length > 0 && (
        <UploadList botSlug={botSlug} uploads={uploads} canRetry={canRetry} onRetry={retryFailed} onClear={clear} />
      )}
      <AddUrl botSlug={botSlug} />
      <AddText key={suggestedTitle} botSlug={botSlug} suggestedTitle={suggestedTitle} />
    </>
  );
}
