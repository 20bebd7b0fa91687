import { PutSiteRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sites } from "../api/clients.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Checkbox } from "../components/checkbox.tsx";
import { Modal } from "../components/dialogs.tsx";
import { TextArea, TextField } from "../components/field.tsx";
import { MutationForm } from "../components/mutation-form.tsx";
import { t } from "../i18n/t.tsx";
import { ScheduleField } from "./schedule-field.tsx";
import { type BotRef, websitesQuery } from "./website-queries.ts";

/** The settings in the form. `include` and `exclude` have one pattern in each line. */
type Draft = {
  url: string;
  singlePage: boolean;
  include: string;
  exclude: string;
  maxPages: string;
  refreshMinutes: number;
};

const NEW_WEBSITE: Draft = {
  url: "",
  singlePage: false,
  include: "",
  exclude: "",
  maxPages: "500",
  refreshMinutes: 24 * 60,
};

export function AddWebsite({ bot, onClose }: { bot: BotRef; onClose: () => void }) {
  const [draft, setDraft] = useState(NEW_WEBSITE);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const { include, exclude, maxPages, ...settings } = draft;
  const addition = useMutation({
    mutationFn: () =>
      sites.putSite({
        ...bot,
        ...settings,
        ...(!draft.singlePage && { include: toLines(include), exclude: toLines(exclude), maxPages: Number(maxPages) }),
      }),
    onSuccess: () => {
      announce(t("The website was added. Its pages are being read."));
      void queryClient.invalidateQueries(websitesQuery(bot));
    },
  });
  return (
    <Modal title={t("Add a website")} isOpen onOpenChange={onClose}>
      <MutationForm mutation={addition} action={t("Add a website")} pendingAction={t("Adding…")} onClose={onClose}>
        <Fields draft={draft} onChange={setDraft} />
      </MutationForm>
    </Modal>
  );
}

function toLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function Fields({ draft, onChange }: { draft: Draft; onChange: (draft: Draft) => void }) {
  const change = (changed: Partial<Draft>) => onChange({ ...draft, ...changed });
  const { min, max } = limitsOf(PutSiteRequestSchema.field.maxPages);
  return (
    <>
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
        value={draft.url}
        onChange={({ target }) => change({ url: target.value })}
      />
      <Checkbox
        label={t("Only this page")}
        isChecked={draft.singlePage}
        onChange={(singlePage) => change({ singlePage })}
      />
      <ScheduleField minutes={draft.refreshMinutes} onChange={(refreshMinutes) => change({ refreshMinutes })} />
      {!draft.singlePage && (
        <>
          <TextArea
            label={t("Only pages with these paths")}
            hint={t("One in each line, such as /shop. Empty for all pages.")}
            rows={2}
            dir="ltr"
            value={draft.include}
            onChange={({ target }) => change({ include: target.value })}
          />
          <TextArea
            label={t("No pages with these paths")}
            rows={2}
            dir="ltr"
            value={draft.exclude}
            onChange={({ target }) => change({ exclude: target.value })}
          />
          <TextField
            label={t("Maximum number of pages")}
            type="number"
            required
            min={Math.max(1, min)}
            max={max}
            value={draft.maxPages}
            onChange={({ target }) => change({ maxPages: target.value })}
          />
        </>
      )}
    </>
  );
}
