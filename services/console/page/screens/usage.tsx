import type { MonthlyUsage } from "@parley/rpc/quota";
import { useQuery } from "@tanstack/react-query";
import { turns, workspaces } from "../api/clients.ts";
import { useBots } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { formatDate } from "../components/dates.ts";
import { PageHeader } from "../components/page-header.tsx";
import { QuotaFigures } from "../components/quota-figures.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { UnpaidNote } from "../components/unpaid-note.tsx";
import { formatNumber } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import { usageRows } from "../usage/by-bot.ts";
import { formatCsv } from "../usage/csv.ts";
import { formatMonth } from "../usage/format-month.ts";
import { readMonths, SHOWN_MONTHS, usageKey } from "../usage/read-months.ts";
import { Thresholds } from "../usage/thresholds.tsx";
import { UsageByBot } from "../usage/usage-by-bot.tsx";

export function Usage() {
  const { workspace_id: workspaceId } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: usageKey(workspaceId),
    queryFn: () => readMonths((month) => workspaces.showUsage({ workspaceId, month })),
  });
  const byBot = useQuery({
    queryKey: ["usage-by-bot", workspaceId],
    queryFn: async () => (await turns.listUsageByBot({ workspaceId, months: SHOWN_MONTHS })).usage,
  });
  const botList = useBots();
  // If the bots' names cannot be loaded, their slugs are shown.
  const bots = botList.data ?? (botList.error ? [] : undefined);
  const [current] = data?.months ?? [];
  return (
    <div className="screen">
      <PageHeader
        title={t("Usage")}
        actions={data && byBot.data && bots && <Download rows={usageRows(data.months, byBot.data, bots)} />}
      >
        {t("Each complete answer counts as one message. The count restarts every month.")}
      </PageHeader>
      {error && !data && <Failure error={error} onRetry={refetch} />}
      {!error && !data && <Loading />}
      {data && current && <CurrentMonth usage={current} thresholds={data.thresholds} />}
      {data && byBot.data && bots && <UsageByBot months={data.months} usage={byBot.data} bots={bots} />}
      {data && byBot.error && !byBot.data && <Failure error={byBot.error} onRetry={byBot.refetch} />}
      {data && current && <Months months={data.months} />}
    </div>
  );
}

/** A link whose URL contains the CSV, so that the download needs no request. */
function Download({ rows }: { rows: ReturnType<typeof usageRows> }) {
  const href = `data:text/csv;charset=utf-8,${encodeURIComponent(formatCsv(rows))}`;
  return (
    <a className="button" href={href} download="usage.csv">
      {t("Download CSV")}
    </a>
  );
}

function CurrentMonth({ usage, thresholds }: { usage: MonthlyUsage; thresholds: readonly number[] }) {
  const { plan, resetsAt } = usage;
  return (
    <section className="panel" aria-labelledby="this-month">
      <div className="panel-header">
        <h2 id="this-month">{formatMonth(usage.month)}</h2>
        <span className="badge neutral">{t("{plan} plan", { plan })}</span>
      </div>
      <QuotaFigures usage={usage} />
      <UnpaidNote usage={usage} />
      <Thresholds usage={usage} percents={thresholds} />
      <p className="hint">{t("The count restarts on {date}.", { date: formatDate(resetsAt) })}</p>
    </section>
  );
}

function Months({ months }: { months: readonly MonthlyUsage[] }) {
  return (
    <section className="panel" aria-labelledby="months">
      <h2 id="months">{t("By month")}</h2>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{t("Month")}</th>
            <th scope="col" className="number">
              {t("Messages")}
            </th>
          </tr>
        </thead>
        <tbody>
          {months.map(({ month, used }) => (
            <tr key={month}>
              <th scope="row">{formatMonth(month)}</th>
              <td className="number">{formatNumber(used)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
