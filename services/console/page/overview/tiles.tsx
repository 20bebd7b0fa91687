import type { GetStatisticsResponse } from "@parley/rpc/conversation";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { formatDuration } from "../components/durations.ts";
import { formatNumber, formatPercent } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";

const NONE = "–";
/** The service counts at most this many conversations of each rating. */
const MAX_RATED = 10_000;

/** The figures of the last 30 days. */
export function Tiles({ statistics }: { statistics: GetStatisticsResponse }) {
  const { days, firstTokenMedianMs, firstTokenP95Ms, sessionsRatedUp: up, sessionsRatedDown: down } = statistics;
  const grounded = days.reduce((sum, day) => sum + day.grounded, 0);
  const ungrounded = days.reduce((sum, day) => sum + day.ungrounded, 0);
  const cited = days.reduce((sum, day) => sum + day.cited, 0);
  const declined = days.reduce((sum, day) => sum + day.declined, 0);
  return (
    <div className="tiles">
      <Tile
        title={t("Typical time to the first word")}
        figure={firstTokenMedianMs > 0 ? formatRoughly(firstTokenMedianMs) : NONE}
      >
        {firstTokenP95Ms > 0 &&
          t("95 of 100 answers begin within {duration}.", { duration: formatRoughly(firstTokenP95Ms) })}
      </Tile>
      <Tile title={t("Answered from knowledge")} figure={formatShare(grounded, grounded + ungrounded)}>
        {t("Answers based on a passage of a document.")}{" "}
        {cited > 0 && t("{count} of them cite it.", { count: formatNumber(cited) })}
      </Tile>
      <Tile title={t("Not answered from knowledge")} figure={formatNumber(ungrounded)}>
        {ungrounded > 0 && (
          <>
            {t("{declined} with passages that had no answer, {none} without a passage.", {
              declined: formatNumber(declined),
              none: formatNumber(ungrounded - declined),
            })}{" "}
            <Link to="/questions">{t("Read the questions")}</Link>
          </>
        )}
      </Tile>
      <Tile title={t("Rated good")} figure={Math.max(up, down) < MAX_RATED ? formatShare(up, up + down) : NONE}>
        {up + down === 0
          ? t("No conversation was rated.")
          : t("{good} good and {bad} bad conversations.", { good: formatRated(up), bad: formatRated(down) })}{" "}
        {down > 0 && (
          <Link to="/conversations" search={{ rating: "down" }}>
            {t("Read the bad ones")}
          </Link>
        )}
      </Tile>
    </div>
  );
}

function Tile({ title, figure, children }: { title: string; figure: string; children: ReactNode }) {
  return (
    <section className="panel tile">
      <h2>{title}</h2>
      <p className="figure">{figure}</p>
      <p className="hint">{children}</p>
    </section>
  );
}

function formatRated(count: number): string {
  return count === MAX_RATED ? t("{count} or more", { count }) : formatNumber(count);
}

function formatShare(part: number, whole: number): string {
  return whole === 0 ? NONE : formatPercent(part / whole);
}

function formatRoughly(ms: number): string {
  return formatDuration(Math.round(ms / 10) * 10);
}
