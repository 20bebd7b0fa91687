import { useId } from "react";
import { getLocale } from "../i18n/language.ts";
import { formatNumber } from "../i18n/numbers.ts";
import { plural, t } from "../i18n/t.tsx";
import { axisTicks } from "./scale.ts";

export type Bar = { day: string; count: number };

// In units of the SVG's view box. The browser stretches the view box to the size of the SVG.
const DAY_WIDTH = 10;
const BAR_WIDTH = 7;
const HEIGHT = 100;
const LABELLED_DAYS = 4;
const DAY_FORMAT = new Intl.DateTimeFormat(getLocale(), { day: "numeric", month: "short", timeZone: "UTC" });

/** Shows the number of messages of each day as bars, and as a table if the owner opens it. */
export function DayChart({ bars }: { bars: readonly Bar[] }) {
  const titleId = useId();
  const largest = Math.max(0, ...bars.map(({ count }) => count));
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const ticks = axisTicks(largest);
  const toY = (count: number) => HEIGHT - (count / (ticks[0] ?? 1)) * HEIGHT;
  return (
    <>
      <div className="chart">
        <p className="chart-counts" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick}>{formatNumber(tick)}</span>
          ))}
        </p>
        <svg
          viewBox={`0 0 ${bars.length * DAY_WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-labelledby={titleId}
        >
          <title id={titleId}>
            {total === 0
              ? t("No messages in {days} days", { days: bars.length })
              : plural(
                  total,
                  "{count} message in {days} days, at most {largest} a day",
                  "{count} messages in {days} days, at most {largest} a day",
                  { days: bars.length, largest },
                )}
          </title>
          {ticks.map((tick) => (
            <line key={tick} x1={0} x2={bars.length * DAY_WIDTH} y1={toY(tick)} y2={toY(tick)} />
          ))}
          {bars.map(({ day, count }, index) => (
            <rect
              key={day}
              x={index * DAY_WIDTH + (DAY_WIDTH - BAR_WIDTH) / 2}
              width={BAR_WIDTH}
              y={toY(count)}
              height={HEIGHT - toY(count)}
            />
          ))}
        </svg>
        <p className="chart-days" aria-hidden="true">
          {labelledDays(bars).map((day) => (
            <span key={day}>{formatDay(day)}</span>
          ))}
        </p>
      </div>
      <details className="chart-table">
        <summary>{t("Show as a table")}</summary>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">{t("Day (UTC)")}</th>
              <th scope="col" className="number">
                {t("Messages")}
              </th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ day, count }) => (
              <tr key={day}>
                <th scope="row">{formatDay(day)}</th>
                <td className="number">{formatNumber(count)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

/** Returns the days below the axis: the first, the last, and days at equal distances between them. */
function labelledDays(bars: readonly Bar[]): string[] {
  const last = Math.max(0, bars.length - 1);
  const indexes = Array.from({ length: LABELLED_DAYS }, (_, index) => Math.round((index * last) / (LABELLED_DAYS - 1)));
  return [...new Set(indexes)].flatMap((index) => bars[index]?.day ?? []);
}

function formatDay(day: string): string {
  return DAY_FORMAT.format(new Date(`${day}T00:00:00Z`));
}
