import type { Bot } from "@parley/rpc/conversation";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { bots as botsClient } from "../api/clients.ts";
import { botsQuery, keysQuery } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { documentCountQuery } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { plural, t } from "../i18n/t.tsx";

type DeleteBotProps = { bot: Bot; isOpen: boolean; onClose: () => void };

export function DeleteBot({ bot, isOpen, onClose }: DeleteBotProps) {
  return (
    <Modal title={t("Delete {name}?", { name: bot.display?.name || bot.slug })} isOpen={isOpen} onOpenChange={onClose}>
      <DeleteForm bot={bot} onClose={onClose} />
    </Modal>
  );
}

function DeleteForm({ bot, onClose }: Omit<DeleteBotProps, "isOpen">) {
  const { workspace_id: workspaceId } = useSession();
  const { slug } = bot;
  const [typed, setTyped] = useState("");
  const { data: keys } = useQuery(keysQuery(workspaceId));
  const { data: documents } = useQuery(documentCountQuery(workspaceId, slug));
  const keyCount = keys?.filter(({ botSlug, revokedAt }) => botSlug === slug && revokedAt === "").length;
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const announce = useAnnounce();
  const deletion = useMutation({
    mutationFn: () => botsClient.deleteBot({ workspaceId, slug }),
    onSuccess: async () => {
      announce(t("The bot was deleted."));
      // The editor disappears, so that it does not ask about unsaved changes of the deleted bot.
      queryClient.setQueryData(botsQuery(workspaceId).queryKey, (before) =>
        before?.filter((each) => each.slug !== slug),
      );
      await navigate({ to: "/bots" });
      await Promise.all([
        queryClient.invalidateQueries(botsQuery(workspaceId)),
        queryClient.invalidateQueries(keysQuery(workspaceId)),
      ]);
    },
  });
  return (
    <MutationForm
      mutation={deletion}
      action={t("Delete bot")}
      pendingAction={t("Deleting…")}
      isDangerous
      isDisabled={typed.trim() !== slug}
      onClose={onClose}
    >
      <div className="deletion">
        <p>{t("These go with it, and cannot be restored:")}</p>
        <ul>
          <li>{describeKeys(keyCount)}</li>
          <li>{describeDocuments(documents)}</li>
          <li>{t("Its settings, moderation rules, tools and evaluation")}</li>
        </ul>
        <p>
          {t(
            "Its conversations stay, and so do its messages in the usage. They keep the short name {slug}, so no other bot can have it.",
            { slug },
          )}
        </p>
      </div>
      <TextField
        label={t("Type {text} to confirm", { text: slug })}
        required
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => setTyped(target.value)}
      />
    </MutationForm>
  );
}

function describeKeys(count: number | undefined): string {
  if (count === undefined) return t("Its keys. The chat on pages with them stops working within seconds.");
  return plural(
    count,
    "{count} key. The chat on pages with it stops working within seconds.",
    "{count} keys. The chat on pages with them stops working within seconds.",
  );
}

function describeDocuments(count: number | undefined): string {
  return count === undefined ? t("Its documents") : plural(count, "{count} document", "{count} documents");
}
