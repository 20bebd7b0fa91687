import { AddNoteRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextArea } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { notesQuery } from "../conversations/notes-query.ts";
import { t } from "../i18n/t.tsx";
import { addNote } from "./answer-visitor.ts";

const { max: MAX_CHARACTERS } = limitsOf(AddNoteRequestSchema.field.text);

/** A button that opens a dialog to add a private note to the conversation. */
export function AddNote({ sessionId }: { sessionId: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        {t("Add a private note")}
      </button>
      {isOpen && <NoteDialog sessionId={sessionId} onClose={() => setOpen(false)} />}
    </>
  );
}

function NoteDialog({ sessionId, onClose }: { sessionId: string; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [text, setText] = useState("");
  // A repeat of the same text has the same id, so that a note whose response was lost is not stored twice.
  const attempt = useRef({ text: "", id: "" });
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const saving = useMutation({
    mutationFn: () => {
      if (attempt.current.text !== text) attempt.current = { text, id: crypto.randomUUID() };
      return addNote(sessionId, text, attempt.current.id);
    },
    onSuccess: () => {
      announce(t("The note was saved."));
      void queryClient.invalidateQueries({ queryKey: notesQuery(workspaceId, sessionId).queryKey });
    },
  });
  return (
    <Modal title={t("Add a private note")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={saving} action={t("Save note")} pendingAction={t("Saving…")} onClose={onClose}>
        <TextArea
          label={t("Private note")}
          hint={t("Only your team can read it, and never the visitor or the bot.")}
          required
          rows={5}
          maxLength={MAX_CHARACTERS}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </MutationForm>
    </Modal>
  );
}
