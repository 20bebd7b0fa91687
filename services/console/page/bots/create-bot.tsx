import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { bots as botsClient } from "../api/clients.ts";
import { botsQuery } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { Modal } from "../components/dialogs.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { useBotNames } from "./bot-name-fields.tsx";

export function CreateBot({ onClose }: { onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const { name, slug, fields } = useBotNames();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const creation = useMutation({
    mutationFn: () => botsClient.createBot({ workspaceId, slug, changes: { name } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries(botsQuery(workspaceId));
      await navigate({ to: "/bots/$slug", params: { slug } });
    },
  });
  return (
    <Modal title={t("New bot")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={creation} action={t("Create bot")} pendingAction={t("Creating…")} onClose={onClose}>
        {fields}
      </MutationForm>
    </Modal>
  );
}
