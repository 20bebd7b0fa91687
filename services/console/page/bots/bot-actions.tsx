import { type Bot, BotAdminService } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { bots as botsClient } from "../api/clients.ts";
import { botsQuery } from "../api/queries.ts";
import { useMayCall, useSession } from "../api/session.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { Icon } from "../components/icon.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { useBotNames } from "./bot-name-fields.tsx";
import { DeleteBot } from "./delete-bot.tsx";

export function BotActions({ bot }: { bot: Bot }) {
  const mayDuplicate = useMayCall(BotAdminService.method.duplicateBot);
  const mayDelete = useMayCall(BotAdminService.method.deleteBot);
  const [open, setOpen] = useState<"duplicate" | "delete" | undefined>();
  const close = () => setOpen(undefined);
  return (
    <>
      {mayDuplicate && (
        <button type="button" className="button" onClick={() => setOpen("duplicate")}>
          <Icon name="copy" />
          {t("Duplicate")}
        </button>
      )}
      {mayDelete && (
        <button type="button" className="button" onClick={() => setOpen("delete")}>
          <Icon name="trash" />
          {t("Delete")}
        </button>
      )}
      <Modal
        title={t("Duplicate the bot")}
        description={t(
          "The copy gets the saved settings and the moderation rules. Keys, documents, tools, the evaluation and conversations stay with this bot.",
        )}
        isOpen={open === "duplicate"}
        onOpenChange={close}
      >
        <DuplicateForm bot={bot} onClose={close} />
      </Modal>
      <DeleteBot bot={bot} isOpen={open === "delete"} onClose={close} />
    </>
  );
}

function DuplicateForm({ bot, onClose }: { bot: Bot; onClose: () => void }) {
  const { workspace_id: workspaceId } = useSession();
  const { name, slug, fields } = useBotNames(
    t("{name} copy", { name: bot.display?.name || bot.slug }),
    `${bot.slug}-copy`,
  );
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const duplication = useMutation({
    mutationFn: () => botsClient.duplicateBot({ workspaceId, slug: bot.slug, newSlug: slug, changes: { name } }),
    onSuccess: async () => {
      await queryClient.invalidateQueries(botsQuery(workspaceId));
      announce(t("The bot was duplicated. This is the copy."));
      await navigate({ to: "/bots/$slug", params: { slug } });
    },
  });
  return (
    <MutationForm mutation={duplication} action={t("Duplicate")} pendingAction={t("Duplicating…")} onClose={onClose}>
      {fields}
    </MutationForm>
  );
}
