import { AddSourceRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useEffect, useState } from "react";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { uploadSource } from "../api/upload.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { TextArea, TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { useFormReset } from "../components/use-form-reset.ts";
import { t } from "../i18n/t.tsx";

const MAX_TITLE_CHARACTERS = limitsOf(AddSourceRequestSchema.field.name).max;

type AddTextProps = {
  botSlug: string;
  /** The initial title, such as an unanswered question. If it is not empty, the form is open and the text area has the focus. */
  suggestedTitle: string;
};

/** Adds a document that the owner writes here. The title becomes its name and first heading. */
export function AddText({ botSlug, suggestedTitle }: AddTextProps) {
  const { workspace_id: workspaceId } = useSession();
  const [draft, setDraft] = useState({ title: suggestedTitle.slice(0, MAX_TITLE_CHARACTERS), text: "" });
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const form = useFormReset(draft.title === "" && draft.text === "");
  useEffect(() => {
    if (suggestedTitle !== "") form.current?.querySelector("textarea")?.focus();
  }, [suggestedTitle, form]);
  const adding = useMutation({
    mutationFn: ({ title, text }: typeof draft) => {
      const content = new TextEncoder().encode(`# ${title.trim().replace(/\s+/g, " ")}\n\n${text}`);
      return uploadSource({ workspaceId, botSlug, name: title, format: "md", content });
    },
    onSuccess: async (_, added) => {
      // The owner may have typed more during the upload.
      setDraft((current) => (current === added ? { title: "", text: "" } : current));
      announce(t("The text was added."));
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    adding.mutate(draft);
  };
  return (
    <details className="panel disclosure" open={suggestedTitle !== ""}>
      <summary>{t("Write a text")}</summary>
      <form ref={form} className="form" onSubmit={submit}>
        <TextField
          label={t("Title")}
          hint={t(
            "A question, for example. If a document has this title as its name, the text replaces that document.",
          )}
          required
          maxLength={MAX_TITLE_CHARACTERS}
          value={draft.title}
          onChange={({ target }) => setDraft({ ...draft, title: target.value })}
        />
        <TextArea
          label={t("Text")}
          required
          rows={5}
          maxLength={100_000}
          value={draft.text}
          onChange={({ target }) => setDraft({ ...draft, text: target.value })}
        />
        <div className="row-actions">
          <button type="submit" className="button" disabled={adding.isPending}>
            <Icon name="plus" />
            {adding.isPending ? t("Adding…") : t("Add text")}
          </button>
        </div>
        {adding.error && (
          <p className="form-error" role="alert">
            {errorText(adding.error)}
          </p>
        )}
      </form>
    </details>
  );
}
