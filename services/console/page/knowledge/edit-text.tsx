import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useBlocker } from "@tanstack/react-router";
import { type SubmitEvent, useEffect, useRef, useState } from "react";
import { knowledge } from "../api/clients.ts";
import { errorText, parleyCodeOf } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { uploadSource } from "../api/upload.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { TextArea } from "../components/field.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";

type EditTextProps = { botSlug: string; name: string; onClose: () => void };

/** Edits the text of a document as it was added. */
export function EditText({ botSlug, name, onClose }: EditTextProps) {
  const { workspace_id: workspaceId } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ["source-text", workspaceId, botSlug, name],
    queryFn: () => knowledge.getSourceText({ workspaceId, botSlug, name }),
    // An edit begins with the text that is stored now, and keeps it when the window gets the focus again.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <section className="panel" aria-labelledby="edit">
      <h2 id="edit">{t("Edit the text")}</h2>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading lines={2} />}
      {data?.source && (
        <TextForm
          botSlug={botSlug}
          name={name}
          format={data.source.format}
          stored={data.text}
          updatedAt={data.source.updatedAt}
          onClose={onClose}
        />
      )}
    </section>
  );
}

type TextFormProps = EditTextProps & { format: string; stored: string; updatedAt: string };

function TextForm({ botSlug, name, format, stored, updatedAt, onClose }: TextFormProps) {
  const { workspace_id: workspaceId } = useSession();
  const [text, setText] = useState(stored);
  const [isConflict, setConflict] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const isSaved = useRef(false);
  const announce = useAnnounce();
  const queryClient = useQueryClient();
  useEffect(() => form.current?.querySelector("textarea")?.focus(), []);
  const saving = useMutation({
    mutationFn: ({ edited, mayReplace }: { edited: string; mayReplace: boolean }) => {
      const content = new TextEncoder().encode(edited);
      const expectedUpdatedAt = mayReplace ? "" : updatedAt;
      return uploadSource({ workspaceId, botSlug, name, format, content, expectedUpdatedAt });
    },
    onSuccess: async () => {
      isSaved.current = true;
      announce(t("Saved. The bot answers from the new text."));
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
      onClose();
    },
    onError: (error) => setConflict(parleyCodeOf(error) === "source_changed"),
  });
  const isChanged = text !== stored;
  useBlocker({
    shouldBlockFn: () => isChanged && !isSaved.current && !window.confirm(t("Leave without saving your changes?")),
    enableBeforeUnload: () => isChanged && !isSaved.current,
  });
  const save = (mayReplace: boolean) => {
    if (!saving.isPending) saving.mutate({ edited: text, mayReplace });
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    save(false);
  };
  return (
    <form ref={form} className="form" onSubmit={submit}>
      <TextArea
        label={t("Text")}
        hint={format === "md" ? t("In Markdown: a line that begins with # is a heading.") : undefined}
        required
        rows={20}
        value={text}
        // The form is sent as it was when the owner saved it.
        readOnly={saving.isPending}
        onChange={({ target }) => setText(target.value)}
      />
      {saving.error && (
        <p className="form-error" role="alert">
          {errorText(saving.error)}
        </p>
      )}
      <div className="modal-actions">
        <button type="button" className="button" onClick={onClose}>
          {t("Cancel")}
        </button>
        <button type="submit" className="button primary" aria-disabled={saving.isPending || undefined}>
          {saving.isPending ? t("Saving…") : t("Save")}
        </button>
      </div>
      <Confirm
        title={t("Replace newer changes?")}
        text={t(
          "Someone else, or you in another window, has changed or removed this document since you began. Your text would replace it.",
        )}
        action={t("Replace")}
        isOpen={isConflict}
        onOpenChange={setConflict}
        onConfirm={() => save(true)}
      />
    </form>
  );
}
