import { useId } from "react";

export type Bar = { day: string; count: number };

// In units of the SVG's view box. The browser stretches the view box to the size of the SVG.
const DAY_WIDTH = 10;
const BAR_WIDTH = 7;
const HEIGHT = 100;
const DAY_FORMAT = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

/** Shows the number of messages of each day as bars, and as a table if the owner opens it. */
export function DayChart({ bars }: { bars: readonly Bar[] }) {
  const titleId = useId();
  const largest = Math.max(0, ...bars.map(({ count }) => count));
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const [first, last] = [bars[0], bars.at(-1)];
  return (
    <>
      <div className="chart">
        <span className="chart-label" aria-hidden="true">
          {largest.toLocaleString()}
        </span>
        <svg
          viewBox={`0 0 ${bars.length * DAY_WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-labelledby={titleId}
        >
          <title id={titleId}>
            {total === 0
              ? `No messages in ${bars.length} days`
              : `${total.toLocaleString()} messages in ${bars.length} days, at most ${largest.toLocaleString()} a day`}
          </title>
          {bars.map(({ day, count }, index) => {
            const height = (count / Math.max(1, largest)) * HEIGHT;
            return (
              <rect
                key={day}
                x={index * DAY_WIDTH + (DAY_WIDTH - BAR_WIDTH) / 2}
                width={BAR_WIDTH}
                y={HEIGHT - height}
                height={height}
              />
            );
          })}
        </svg>
        <p className="chart-days" aria-hidden="true">
          <span>{first && formatDay(first.day)}</span>
          <span>{last && formatDay(last.day)}</span>
        </p>
      </div>
      <details className="chart-table">
        <summary>Show as a table</summary>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Day (UTC)</th>
              <th scope="col" className="number">
                Messages
              </th>
            </tr>
          </thead>
          <tbody>
            {bars.toReversed().map(({ day, count }) => (
              <tr key={day}>
                <th scope="row">{formatDay(day)}</th>
                <td className="number">{count.toLocaleString()}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  );
}

function formatDay(day: string): string {
  return DAY_FORMAT.format(new Date(`${day}T00:00:00Z`));
}
