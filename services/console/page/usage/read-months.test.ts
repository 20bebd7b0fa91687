import { create } from "@bufbuild/protobuf";
import { MonthlyUsageSchema } from "@parley/rpc/quota";
import { expect, onTestFinished, test, vi } from "vitest";
import { readMonths } from "./read-months.ts";

test.each(["2027-01-31T23:59:59Z", "2027-03-01T00:00:01Z"])(
  "reads each of six months once if the service's clock is in February and the browser's clock is at %s",
  async (time) => {
    vi.useFakeTimers({ now: new Date(time) });
    onTestFinished(() => void vi.useRealTimers());
    const { months, thresholds } = await readMonths(async (month) => ({
      usage: create(MonthlyUsageSchema, { month: month || "2027-02" }),
      thresholds: [50, 80],
    }));
    expect(thresholds).toEqual([50, 80]);
    expect(months.map(({ month }) => month)).toEqual([
      "2027-02",
      "2027-01",
      "2026-12",
      "2026-11",
      "2026-10",
      "2026-09",
    ]);
  },
);
