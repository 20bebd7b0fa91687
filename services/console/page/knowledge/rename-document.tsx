import { RenameSourceRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { knowledge } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { passagesQuery, sourcesKey } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";

export function RenameDocument({ botSlug, name }: { botSlug: string; name: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        {t("Rename")}
      </button>
      <Modal
        title={t("Rename the document")}
        description={t("Its text, its place in evaluations and past answers stay as they are.")}
        isOpen={isOpen}
        onOpenChange={setOpen}
      >
        <RenameForm botSlug={botSlug} name={name} onClose={() => setOpen(false)} />
      </Modal>
    </>
  );
}

function RenameForm({ botSlug, name, onClose }: { botSlug: string; name: string; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [newName, setNewName] = useState(name);
  const announce = useAnnounce();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const renaming = useMutation({
    mutationFn: () => knowledge.renameSource({ workspaceId, botSlug, name, newName }),
    onSuccess: async ({ source }) => {
      announce(t("The document was renamed."));
      const shown = queryClient.getQueryData(passagesQuery(workspaceId, botSlug, name).queryKey);
      // With the text that is shown already, the screen and the focus stay while the renamed document is loaded.
      if (shown && source)
        queryClient.setQueryData(passagesQuery(workspaceId, botSlug, source.name).queryKey, {
          ...shown,
          pages: shown.pages.map((page) => ({ ...page, source })),
        });
      await navigate({
        to: "/knowledge/document",
        search: { bot: botSlug, name: source?.name ?? newName },
        replace: true,
      });
      queryClient.removeQueries({ queryKey: sourcesKey(workspaceId, botSlug), type: "inactive" });
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
    },
  });
  return (
    <MutationForm mutation={renaming} action={t("Rename")} pendingAction={t("Renaming…")} onClose={onClose}>
      <TextField
        label={t("Name")}
        required
        maxLength={limitsOf(RenameSourceRequestSchema.field.newName).max}
        pattern=".*\S.*"
        value={newName}
        onChange={({ target }) => setNewName(target.value)}
      />
    </MutationForm>
  );
}
