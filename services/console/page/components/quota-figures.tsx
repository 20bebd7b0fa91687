import type { GetUsageResponse } from "@parley/rpc/quota";

/** The meter warns from this share of the quota on. This share is also the lower threshold that thresholdsOf() returns. */
const WARNING_SHARE = 0.8;

/** The used, held and remaining messages of a workspace in this month. */
export function QuotaFigures({ usage: { used, held, cap } }: { usage: GetUsageResponse }) {
  const figures = [
    ["Used", `${used.toLocaleString()} of ${cap.toLocaleString()}`],
    ["Being answered", held.toLocaleString()],
    ["Left", Math.max(0, cap - used - held).toLocaleString()],
  ] as const;
  return (
    <>
      <dl className="figures">
        {figures.map(([name, figure]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{figure}</dd>
          </div>
        ))}
      </dl>
      <meter
        className="quota"
        aria-label="Messages used of the month's quota"
        min={0}
        max={Math.max(cap, 1)}
        high={cap * WARNING_SHARE}
        value={Math.min(used + held, cap)}
      />
    </>
  );
}
