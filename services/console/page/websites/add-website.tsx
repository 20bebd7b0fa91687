import { PutSiteRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sites } from "../api/clients.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { NEW_WEBSITE, settingsOf, WebsiteFields } from "./website-fields.tsx";
import { type BotRef, websitesQuery } from "./website-queries.ts";

export function AddWebsite({ bot, onClose }: { bot: BotRef; onClose: () => void }) {
  const [url, setUrl] = useState("");
  const [draft, setDraft] = useState(NEW_WEBSITE);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const addition = useMutation({
    mutationFn: () => sites.putSite({ ...bot, url, ...settingsOf(draft) }),
    onSuccess: () => {
      announce(t("The website was added. Its pages are being read."));
      void queryClient.invalidateQueries(websitesQuery(bot));
    },
  });
  return (
    <Modal title={t("Add a website")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={addition} action={t("Add a website")} pendingAction={t("Adding…")} onClose={onClose}>
        <TextField
          label={t("Address")}
          hint={t("All pages of the website become documents and are refreshed.")}
          formatError={t("Write the whole address, such as https://example.com/delivery.")}
          type="url"
          pattern="https?://.*"
          required
          dir="ltr"
          placeholder="https://"
          maxLength={limitsOf(PutSiteRequestSchema.field.url).max}
          value={url}
          onChange={({ target }) => setUrl(target.value)}
        />
        <WebsiteFields draft={draft} onChange={setDraft} />
      </MutationForm>
    </Modal>
  );
}
