import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { sessions } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { plural, t } from "../i18n/t.tsx";

export function EraseVisitor({ visitorId }: { visitorId: string }) {
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setConfirmOpen(true)}>
        {t("Erase visitor")}
      </button>
      {isConfirmOpen && <Confirmation visitorId={visitorId} onClose={() => setConfirmOpen(false)} />}
    </>
  );
}

function Confirmation({ visitorId, onClose }: { visitorId: string; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const [typed, setTyped] = useState("");
  const announce = useAnnounce();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const erasure = useMutation({
    mutationFn: () => sessions.eraseVisitor({ workspaceId, visitorId }),
    onSuccess: async ({ sessions: count }) => {
      announce(
        plural(Number(count), "{count} conversation is being erased.", "{count} conversations are being erased."),
      );
      queryClient.removeQueries({ queryKey: ["conversations", workspaceId] });
      await navigate({ to: "/conversations" });
      queryClient.removeQueries({ queryKey: ["conversation", workspaceId] });
    },
  });
  return (
    <Modal
      title={t("Erase everything of this visitor?")}
      description={t(
        "All conversations of the visitor, with all bots, are removed from the database. This cannot be undone.",
      )}
      isOpen
      onOpenChange={onClose}
    >
      <MutationForm
        mutation={erasure}
        action={t("Erase")}
        pendingAction={t("Erasing…")}
        isDangerous
        isDisabled={typed !== visitorId}
        onClose={onClose}
      >
        <TextField
          label={t("Type {text} to confirm", { text: visitorId })}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </MutationForm>
    </Modal>
  );
}
