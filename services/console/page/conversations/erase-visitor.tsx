import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { sessions } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";

export function EraseVisitor({ visitorId }: { visitorId: string }) {
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setConfirmOpen(true)}>
        Erase visitor
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
    mutationFn: () => sessions.eraseVisitorSessions({ workspaceId, visitorId }),
    onSuccess: async ({ sessions: count }) => {
      announce(count === 1n ? "1 conversation is being erased." : `${count} conversations are being erased.`);
      queryClient.removeQueries({ queryKey: ["conversations", workspaceId] });
      await navigate({ to: "/conversations" });
      queryClient.removeQueries({ queryKey: ["conversation", workspaceId] });
    },
  });
  return (
    <Modal
      title="Erase everything of this visitor?"
      description="All conversations of the visitor, with all bots, are removed from the database. This cannot be undone."
      isOpen
      onOpenChange={onClose}
    >
      <MutationForm
        mutation={erasure}
        action="Erase"
        pendingAction="Erasing…"
        isDangerous
        isDisabled={typed !== visitorId}
        onClose={onClose}
      >
        <TextField
          label={`Type ${visitorId} to confirm`}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
      </MutationForm>
    </Modal>
  );
}
