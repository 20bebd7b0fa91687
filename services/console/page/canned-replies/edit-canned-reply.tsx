import { AddCannedReplyRequestSchema, type CannedReply } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { cannedReplies } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextArea, TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { cannedRepliesQuery } from "./canned-replies-query.ts";

const { name: NAME, text: TEXT } = AddCannedReplyRequestSchema.field;

/** A dialog that changes `reply` or, without one, adds a canned reply. */
export function EditCannedReply({ reply, onClose }: { reply?: CannedReply | undefined; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [name, setName] = useState(reply?.name ?? "");
  const [text, setText] = useState(reply?.text ?? "");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const saving = useMutation({
    mutationFn: async () => {
      const fields = { workspaceId, name, text };
      if (reply) await cannedReplies.updateCannedReply({ ...fields, id: reply.id });
      else await cannedReplies.addCannedReply(fields);
    },
    onSuccess: () => {
      announce(t("The canned reply was saved."));
      void queryClient.invalidateQueries(cannedRepliesQuery(workspaceId));
    },
  });
  return (
    <Modal title={reply ? t("Change the canned reply") : t("New canned reply")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={saving} action={t("Save")} pendingAction={t("Saving…")} onClose={onClose}>
        <TextField
          label={t("Name")}
          required
          maxLength={limitsOf(NAME).max}
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <TextArea
          label={t("Text")}
          hint={t("In Markdown: **bold**, lists and links.")}
          required
          rows={6}
          maxLength={limitsOf(TEXT).max}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </MutationForm>
    </Modal>
  );
}
