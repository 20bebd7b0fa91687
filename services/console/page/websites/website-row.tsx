import { type Site, SiteAdminService } from "@parley/rpc/conversation";
import { useState } from "react";
import { codeText } from "../api/error-text.ts";
import { useMayCall } from "../api/session.ts";
import { formatDateTime } from "../components/dates.ts";
import { formatRetention } from "../components/durations.ts";
import { Facts } from "../components/facts.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import { FailedPages } from "./failed-pages.tsx";
import { WebsiteActions, type WebsiteProps } from "./website-actions.tsx";

export function WebsiteRow({ bot, site, onRemoved }: WebsiteProps) {
  const mayChange = useMayCall(SiteAdminService.method.refreshSite);
  const [isOpen, setOpen] = useState(false);
  const failed = site.counts?.failed ?? 0;
  return (
    <li className="row website">
      <div className="row-text">
        <span className="row-title">
          <strong>
            <bdi>{site.url}</bdi>
          </strong>
          <StateBadge site={site} />
        </span>
        <Progress site={site} />
        {site.failure !== "" && <p className="form-error">{codeText(site.failureCode) ?? site.failure}</p>}
        <Facts facts={listFacts(site)} />
        {failed > 0 && !site.singlePage && (
          <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
            <summary>{t("Pages that could not be read")}</summary>
            {isOpen && <FailedPages bot={bot} site={site} />}
          </details>
        )}
        {mayChange && <WebsiteActions bot={bot} site={site} onRemoved={onRemoved} />}
      </div>
    </li>
  );
}

function StateBadge({ site: { state, counts } }: { site: Site }) {
  if (state === "failed") return <span className="badge">{t("Failed")}</span>;
  if (state === "crawling") return <span className="badge neutral">{t("Being read")}</span>;
  if (state === "removing") return <span className="badge neutral">{t("Being removed")}</span>;
  if (state === "stopped") return <span className="badge neutral">{t("Stopped")}</span>;
  if ((counts?.failed ?? 0) > 0) return <span className="badge">{t("Incomplete")}</span>;
  return <span className="badge neutral">{t("Up to date")}</span>;
}

/** The pages that are done, of those that have been found so far. */
function Progress({ site: { state, url, counts } }: { site: Site }) {
  if (state !== "crawling") return null;
  const { found = 0, waiting = 0 } = counts ?? {};
  return (
    <progress aria-label={t("Progress of {name}", { name: url })} max={Math.max(1, found)} value={found - waiting} />
  );
}

function listFacts(site: Site): (readonly [string, string])[] {
  const { singlePage, refreshMinutes, endedAt, nextRunAt } = site;
  return [
    ...(singlePage ? [] : listPageFacts(site)),
    [t("Last refresh"), endedAt && formatDateTime(endedAt)],
    [t("Next refresh"), nextRunAt && formatDateTime(nextRunAt)],
    [t("Time between two refreshes"), refreshMinutes === 0 ? t("Only by hand") : formatRetention(refreshMinutes)],
  ];
}

function listPageFacts({ counts, include, exclude, maxPages }: Site): (readonly [string, string])[] {
  const { found = 0, waiting = 0, documents = 0, unchanged = 0, failed = 0 } = counts ?? {};
  return [
    [t("Pages found"), formatNumber(found)],
    [t("Pages done"), formatNumber(found - waiting)],
    [t("Unchanged"), formatNumber(unchanged)],
    [t("Failed"), formatNumber(failed)],
    [t("Documents"), formatNumber(documents)],
    [t("Maximum number of pages"), formatNumber(maxPages)],
    [t("Only pages with these paths"), include.join(" ")],
    [t("No pages with these paths"), exclude.join(" ")],
  ];
}
