import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { sessions } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Button } from "../components/button.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

export function DeleteConversation({ sessionId }: { sessionId: string }) {
  const { workspace_id: workspaceId } = useSession();
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const announce = useAnnounce();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const deletion = useMutation({
    mutationFn: () => sessions.deleteSession({ workspaceId, sessionId }),
    onSuccess: async () => {
      announce(t("The conversation was deleted."));
      queryClient.removeQueries({ queryKey: ["conversations", workspaceId] });
      await navigate({ to: "/conversations" });
      // Removed only after the navigation: before it, the conversation's screen would fetch the conversation again.
      queryClient.removeQueries({ queryKey: ["conversation", workspaceId, sessionId] });
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <>
      <Button isDisabled={deletion.isPending} onClick={() => setConfirmOpen(true)}>
        <Icon name="trash" />
        {t("Delete")}
      </Button>
      <Confirm
        title={t("Delete the conversation?")}
        text={t("Nobody in this workspace can read or export it any more. The visitor cannot continue it.")}
        action={t("Delete")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => deletion.mutate()}
      />
    </>
  );
}
