import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { knowledge } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { Icon } from "../components/icon.tsx";
import { t } from "../i18n/t.tsx";

export function RemoveDocument({ botSlug, name }: { botSlug: string; name: string }) {
  const { workspace_id: workspaceId } = useSession();
  const [isConfirmOpen, setConfirmOpen] = useState(false);
  const announce = useAnnounce();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const removal = useMutation({
    mutationFn: () => knowledge.removeSource({ workspaceId, botSlug, name }),
    onSuccess: async () => {
      announce(t("The document was removed."));
      await navigate({ to: "/knowledge", search: { bot: botSlug } });
      // Only after the navigation: before it, this screen would fetch the document again.
      queryClient.removeQueries({ queryKey: sourcesKey(workspaceId, botSlug), type: "inactive" });
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  return (
    <>
      <button
        type="button"
        className="button"
        aria-disabled={removal.isPending || undefined}
        onClick={() => !removal.isPending && setConfirmOpen(true)}
      >
        <Icon name="trash" />
        {t("Remove")}
      </button>
      <Confirm
        title={t("Remove the document?")}
        text={t("The bot will no longer answer from “{name}”.", { name })}
        action={t("Remove")}
        isOpen={isConfirmOpen}
        onOpenChange={setConfirmOpen}
        onConfirm={() => removal.mutate()}
      />
    </>
  );
}
