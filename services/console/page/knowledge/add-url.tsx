import { AddSourceRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { knowledge, sites } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { TextField } from "../components/field.tsx";
import { Icon } from "../components/icon.tsx";
import { useFormReset } from "../components/use-form-reset.ts";
import { t } from "../i18n/t.tsx";
import { ScheduleField } from "../websites/schedule-field.tsx";
import { websitesQuery } from "../websites/website-queries.ts";

/** Adds one page. A page that is refreshed regularly is among the websites, where its next refresh is shown. */
export function AddUrl({ botSlug }: { botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const bot = { workspaceId, botSlug };
  const [url, setUrl] = useState("");
  const [refreshMinutes, setRefreshMinutes] = useState(0);
  const form = useFormReset(url === "");
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const adding = useMutation({
    mutationFn: async (added: string) => {
      if (refreshMinutes === 0) await knowledge.addSource({ ...bot, url: added });
      else await sites.putSite({ ...bot, url: added, refreshMinutes, singlePage: true });
    },
    onSuccess: async (_, added) => {
      // Keeps the next address if the owner has already typed one.
      setUrl((current) => (current === added ? "" : current));
      announce(t("The page was added."));
      await Promise.all([
        queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) }),
        queryClient.invalidateQueries(websitesQuery(bot)),
      ]);
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    adding.mutate(url);
  };
  return (
    <section className="panel" aria-label={t("Add a page by its address")}>
      <form ref={form} className="inline-form" onSubmit={submit}>
        <TextField
          label={t("Address of a page")}
          type="url"
          formatError={t("Write the whole address, such as https://example.com/delivery.")}
          required
          maxLength={limitsOf(AddSourceRequestSchema.field.url).max}
          placeholder="https://"
          value={url}
          onChange={({ target }) => setUrl(target.value)}
        />
        <ScheduleField minutes={refreshMinutes} onChange={setRefreshMinutes} />
        <button type="submit" className="button" disabled={adding.isPending}>
          <Icon name="link" />
          {adding.isPending ? t("Fetching…") : t("Add page")}
        </button>
      </form>
      {adding.error && (
        <p className="form-error" role="alert">
          {errorText(adding.error)}
        </p>
      )}
    </section>
  );
}
