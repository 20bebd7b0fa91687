import type { Site } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sites } from "../api/clients.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { draftOf, settingsOf, WebsiteFields } from "./website-fields.tsx";
import { type BotRef, websitesQuery } from "./website-queries.ts";

type EditWebsiteProps = { bot: BotRef; site: Site; onClose: () => void };

/** Changes a website. Other pages are read immediately; another schedule alone starts nothing. */
export function EditWebsite({ bot, site, onClose }: EditWebsiteProps) {
  const { id, url, singlePage } = site;
  const [draft, setDraft] = useState(() => draftOf(site));
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const update = useMutation({
    mutationFn: async () => {
      const settings = settingsOf(draft);
      const { refreshMinutes } = settings;
      const hasSamePages =
        JSON.stringify(settings) === JSON.stringify(settingsOf({ ...draftOf(site), refreshMinutes }));
      if (hasSamePages) await sites.scheduleSite({ ...bot, id, refreshMinutes });
      else await sites.putSite({ ...bot, url, ...settings });
      return hasSamePages;
    },
    onSuccess: (hasSamePages) => {
      announce(hasSamePages ? t("The schedule was changed.") : t("The website was changed. Its pages are being read."));
      void queryClient.invalidateQueries(websitesQuery(bot));
    },
  });
  return (
    <Modal title={t("Change the website")} description={<bdi>{url}</bdi>} isOpen onOpenChange={onClose}>
      <MutationForm mutation={update} action={t("Save")} pendingAction={t("Saving…")} onClose={onClose}>
        <WebsiteFields draft={draft} onChange={setDraft} isSinglePage={singlePage} />
      </MutationForm>
    </Modal>
  );
}
