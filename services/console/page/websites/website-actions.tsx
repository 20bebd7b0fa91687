import type { Site } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sites } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Confirm } from "../components/dialogs.tsx";
import { Icon } from "../components/icon.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import { EditWebsite } from "./edit-website.tsx";
import { type BotRef, websitesQuery } from "./website-queries.ts";

const MESSAGES = {
  refreshSite: t("The website is being read."),
  stopSite: t("The refresh was stopped. The documents stay."),
  removeSite: t("The website is being removed."),
};

export type WebsiteProps = {
  bot: BotRef;
  site: Site;
  /** Called when the website and its buttons are about to disappear. */
  onRemoved: () => void;
};

/** The buttons that change a website. */
export function WebsiteActions({ bot, site, onRemoved }: WebsiteProps) {
  const { id, url, state, counts } = site;
  const [open, setOpen] = useState<"edit" | "remove" | undefined>();
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const change = useMutation({
    mutationFn: async (method: keyof typeof MESSAGES) => {
      await sites[method]({ ...bot, id });
    },
    onSuccess: async (_, method) => {
      announce(MESSAGES[method]);
      if (method === "removeSite") onRemoved();
      await queryClient.invalidateQueries(websitesQuery(bot));
    },
    onError: (error) => announce(errorText(error), { isError: true }),
  });
  const isCrawling = state === "crawling";
  if (state === "removing") return null;
  return (
    <div className="actions">
      <button
        type="button"
        className="button"
        aria-disabled={change.isPending || undefined}
        onClick={() => !change.isPending && change.mutate(isCrawling ? "stopSite" : "refreshSite")}
      >
        {isCrawling ? t("Stop") : t("Refresh now")}
      </button>
      <button
        type="button"
        className="button"
        aria-label={t("Edit {name}", { name: url })}
        onClick={() => setOpen("edit")}
      >
        {t("Edit")}
      </button>
      <button
        type="button"
        className="button"
        aria-label={t("Remove {name}", { name: url })}
        onClick={() => setOpen("remove")}
      >
        <Icon name="trash" />
        {t("Remove")}
      </button>
      {open === "edit" && <EditWebsite bot={bot} site={site} onClose={() => setOpen(undefined)} />}
      <Confirm
        title={t("Remove the website?")}
        text={t("Its documents are removed too: {count}. The bot will no longer answer from {name}.", {
          count: formatNumber(counts?.documents ?? 0),
          name: url,
        })}
        action={t("Remove")}
        isOpen={open === "remove"}
        onOpenChange={() => setOpen(undefined)}
        onConfirm={() => change.mutate("removeSite")}
      />
    </div>
  );
}
