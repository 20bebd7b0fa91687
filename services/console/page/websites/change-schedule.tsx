import type { Site } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sites } from "../api/clients.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { ScheduleField } from "./schedule-field.tsx";
import { type BotRef, websitesQuery } from "./website-queries.ts";

type ChangeScheduleProps = { bot: BotRef; site: Site; onClose: () => void };

export function ChangeSchedule({ bot, site, onClose }: ChangeScheduleProps) {
  const [refreshMinutes, setRefreshMinutes] = useState(site.refreshMinutes);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const update = useMutation({
    mutationFn: () => sites.scheduleSite({ ...bot, id: site.id, refreshMinutes }),
    onSuccess: () => {
      announce(t("The schedule was changed."));
      void queryClient.invalidateQueries(websitesQuery(bot));
    },
  });
  return (
    <Modal title={t("Change the schedule")} description={<bdi>{site.url}</bdi>} isOpen onOpenChange={onClose}>
      <MutationForm mutation={update} action={t("Save")} pendingAction={t("Saving…")} onClose={onClose}>
        <ScheduleField minutes={refreshMinutes} onChange={setRefreshMinutes} />
      </MutationForm>
    </Modal>
  );
}
