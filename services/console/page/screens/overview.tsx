import "../overview/overview.css";
import type { MonthlyUsage } from "@parley/rpc/quota";
import { useQuery } from "@tanstack/react-query";
import { turns, workspaces } from "../api/clients.ts";
import { useSession } from "../api/session.ts";
import { formatDate } from "../components/dates.ts";
import { formatRetention } from "../components/durations.ts";
import { PageHeader } from "../components/page-header.tsx";
import { QuotaFigures } from "../components/quota-figures.tsx";
import { Failure, Loading } from "../components/states.tsx";
import { UnpaidNote } from "../components/unpaid-note.tsx";
import { t } from "../i18n/t.tsx";
import { Checklist } from "../overview/checklist.tsx";
import { DayChart } from "../overview/day-chart.tsx";
import { forecast, lastDays } from "../overview/forecast.ts";
import { Tiles } from "../overview/tiles.tsx";

const SHOWN_DAYS = 30;

export function Overview() {
  const { workspace_id: workspaceId } = useSession();
  const statistics = useQuery({
    queryKey: ["statistics", workspaceId],
    queryFn: () => turns.getStatistics({ workspaceId, days: SHOWN_DAYS }),
  });
  const usage = useQuery({
    queryKey: ["usage", workspaceId, "current"],
    queryFn: () => workspaces.showUsage({ workspaceId }),
  });
  const repliesByDay = new Map(statistics.data?.days.map(({ day, replies }) => [day, replies] as const));
  const bars = lastDays(SHOWN_DAYS, Date.now()).map((day) => ({ day, count: repliesByDay.get(day) ?? 0 }));
  return (
    <div className="screen">
      <PageHeader title={t("Overview")}>
        {t("The last {days} days, and this month's messages.", { days: SHOWN_DAYS })}
      </PageHeader>
      <Checklist />
      {usage.data?.usage && <Quota usage={usage.data.usage} repliesByDay={statistics.data && repliesByDay} />}
      {usage.data && (
        <p className="hint">
          {t("How long conversations are kept after their last message: {time}", {
            time: formatRetention(usage.data.retentionMinutes),
          })}
        </p>
      )}
      {usage.error && !usage.data && <Failure error={usage.error} onRetry={usage.refetch} />}
      {statistics.error && !statistics.data && <Failure error={statistics.error} onRetry={statistics.refetch} />}
      {!statistics.error && !statistics.data && <Loading />}
      {statistics.data && (
        <>
          <section className="panel" aria-labelledby="days">
            <h2 id="days">{t("Messages a day")}</h2>
            <DayChart bars={bars} />
          </section>
          <Tiles statistics={statistics.data} />
        </>
      )}
    </div>
  );
}

type QuotaProps = {
  usage: MonthlyUsage;
  /** Undefined until the statistics are loaded. */
  repliesByDay: ReadonlyMap<string, number> | undefined;
};

function Quota({ usage, repliesByDay }: QuotaProps) {
  return (
    <section className="panel" aria-labelledby="quota">
      <h2 id="quota">{t("This month")}</h2>
      <QuotaFigures usage={usage} />
      <UnpaidNote usage={usage} />
      <p className="hint">
        {repliesByDay && describeForecast(usage, repliesByDay)}{" "}
        {t("The count restarts on {date}.", { date: formatDate(usage.resetsAt) })}
      </p>
    </section>
  );
}

function describeForecast(usage: MonthlyUsage, repliesByDay: ReadonlyMap<string, number>): string {
  const expected = forecast(usage, repliesByDay, Date.now());
  if (expected === undefined) return t("A forecast appears after the first full day with messages.");
  if (expected.exhaustedAt !== undefined)
    return t("At the pace of the last week, the messages run out on {date}.", {
      date: formatDate(expected.exhaustedAt.toISOString()),
    });
  return t("At the pace of the last week, about {expected} of {total} messages will be used this month.", {
    expected: expected.total,
    total: usage.cap,
  });
}
