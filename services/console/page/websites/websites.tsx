import { SiteAdminService } from "@parley/rpc/conversation";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useMayCall, useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { Icon } from "../components/icon.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";
import { AddWebsite } from "./add-website.tsx";
import { isBusy, websitesQuery } from "./website-queries.ts";
import { WebsiteRow } from "./website-row.tsx";
import "./websites.css";

/** The websites whose pages are documents of the bot. */
export function Websites({ botSlug }: { botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const bot = { workspaceId, botSlug };
  const mayAdd = useMayCall(SiteAdminService.method.putSite);
  const { data: websites, error, refetch } = useQuery(websitesQuery(bot));
  const [isAdding, setAdding] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const queryClient = useQueryClient();
  const progress = websites?.map(({ state, counts }) => `${state} ${counts?.added} ${counts?.changed}`).join();
  const isAnyBusy = websites?.some(isBusy);
  useEffect(() => {
    // The list of documents changes with the progress of the websites.
    if (progress !== undefined && isAnyBusy !== undefined)
      void queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
  }, [queryClient, workspaceId, botSlug, progress, isAnyBusy]);
  if (!mayAdd && websites?.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="websites">
      <div className="panel-header">
        <h2 id="websites" ref={heading} tabIndex={-1}>
          {t("Websites")}
        </h2>
        {mayAdd && (
          <button type="button" className="button" onClick={() => setAdding(true)}>
            <Icon name="plus" />
            {t("Add a website")}
          </button>
        )}
      </div>
      {error && !websites && <Failure error={error} onRetry={refetch} />}
      {!error && !websites && <Loading />}
      {websites?.length === 0 && (
        <p className="muted">{t("All pages of the website become documents and are refreshed.")}</p>
      )}
      {websites && websites.length > 0 && (
        <ul className="rows" aria-labelledby="websites">
          {websites.map((site) => (
            <WebsiteRow key={String(site.id)} bot={bot} site={site} onRemoved={() => heading.current?.focus()} />
          ))}
        </ul>
      )}
      {websites && error && <Failure error={error} />}
      {isAdding && <AddWebsite bot={bot} onClose={() => setAdding(false)} />}
    </section>
  );
}
