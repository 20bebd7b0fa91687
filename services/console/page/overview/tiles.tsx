import type { GetStatisticsResponse } from "@parley/rpc/conversation";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

const NONE = "–";
/** The service counts at most this many conversations of each rating. */
const MAX_RATED = 10_000;

/** The figures of the last 30 days. */
export function Tiles({ statistics }: { statistics: GetStatisticsResponse }) {
  const { days, firstTokenMedianMs, firstTokenP95Ms, sessionsRatedUp: up, sessionsRatedDown: down } = statistics;
  const grounded = days.reduce((sum, day) => sum + day.grounded, 0);
  const ungrounded = days.reduce((sum, day) => sum + day.ungrounded, 0);
  return (
    <div className="tiles">
      <Tile
        title="Typical time to the first word"
        figure={firstTokenMedianMs > 0 ? formatDuration(firstTokenMedianMs) : NONE}
      >
        {firstTokenP95Ms > 0 && `95 of 100 answers begin within ${formatDuration(firstTokenP95Ms)}.`}
      </Tile>
      <Tile title="Answered from knowledge" figure={formatShare(grounded, grounded + ungrounded)}>
        Answers based on a passage of a document.
      </Tile>
      <Tile title="Not answered from knowledge" figure={ungrounded.toLocaleString()}>
        {ungrounded > 0 && (
          <>
            A document may be missing. <Link to="/questions">Read the questions</Link>
          </>
        )}
      </Tile>
      <Tile title="Rated good" figure={Math.max(up, down) < MAX_RATED ? formatShare(up, up + down) : NONE}>
        {up + down === 0
          ? "No conversation was rated."
          : `${formatRated(up)} good and ${formatRated(down)} bad conversations.`}{" "}
        {down > 0 && (
          <Link to="/conversations" search={{ rating: "down" }}>
            Read the bad ones
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
  return count.toLocaleString() + (count === MAX_RATED ? " or more" : "");
}

function formatShare(part: number, whole: number): string {
  return whole === 0 ? NONE : (part / whole).toLocaleString(undefined, { style: "percent" });
}

function formatDuration(ms: number): string {
  const rounded = Math.round(ms / 10) * 10;
  return rounded < 1_000 ? `${rounded} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
