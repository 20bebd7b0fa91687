import "../answers/answers.css";
import { type CannedReply, CannedReplyAdminService } from "@parley/rpc/conversation";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useMayCall, useSession } from "../api/session.ts";
import { cannedRepliesQuery } from "../canned-replies/canned-replies-query.ts";
import { CannedReplyRow } from "../canned-replies/canned-reply-row.tsx";
import { EditCannedReply } from "../canned-replies/edit-canned-reply.tsx";
import { Icon } from "../components/icon.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";

/** The texts that the team inserts into its answers. */
export function CannedReplies() {
  const { workspace_id: workspaceId } = useSession();
  const { data: replies, error, refetch } = useQuery(cannedRepliesQuery(workspaceId));
  const mayChange = useMayCall(CannedReplyAdminService.method.addCannedReply);
  // Of a reply that is changed, or "new".
  const [edited, setEdited] = useState<CannedReply | "new">();
  const addButton = mayChange && (
    <button type="button" className="button primary" onClick={() => setEdited("new")}>
      <Icon name="plus" />
      {t("New canned reply")}
    </button>
  );
  const isEmpty = replies?.length === 0;
  return (
    <div className="screen">
      <PageHeader title={t("Canned replies")} actions={!isEmpty && addButton}>
        {t("Texts that your team inserts into its answers: type / in the field to answer.")}
      </PageHeader>
      {error && !replies && <Failure error={error} onRetry={refetch} />}
      {!error && !replies && <Loading />}
      {isEmpty && (
        <Empty icon="copy" title={t("No canned reply yet")} action={addButton}>
          {t("Write once what your team answers often.")}
        </Empty>
      )}
      {replies && !isEmpty && (
        <ul className="rows panel flush" aria-label={t("Canned replies")}>
          {replies.map((reply) => (
            <CannedReplyRow key={String(reply.id)} {...{ reply, mayChange }} onEdit={() => setEdited(reply)} />
          ))}
        </ul>
      )}
      {edited && <EditCannedReply reply={edited === "new" ? undefined : edited} onClose={() => setEdited(undefined)} />}
    </div>
  );
}
