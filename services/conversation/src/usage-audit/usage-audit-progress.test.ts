import { expect, test } from "vitest";
import {
  advanceUsageAudit,
  findNextPage,
  listDifferingPairs,
  type UsageAuditProgress,
} from "./usage-audit-progress.ts";

const NOVEMBER_3 = new Date("2026-11-03T12:00:00Z");
const NOVEMBER_9 = new Date("2026-11-09T12:00:00Z");
const fine = (id: string) => ({ id, differences: [] });
const differs = (id: string) => ({ id, differences: [{ kind: "reply_not_counted" as const, turnId: "1" }] });

/** Audits months, each in one page, until the audit is complete. Returns the months in the order of the audit. */
function auditAll(
  progress: UsageAuditProgress,
  now: Date,
  workspacesOf: (month: string) => ReturnType<typeof differs>[],
) {
  const months: string[] = [];
  for (let current = progress; ; ) {
    const { month } = findNextPage(current, now);
    if (months.push(month) > 10) throw new Error(`the audit does not end: ${months}`);
    const page = { month, workspaces: workspacesOf(month), next: "" };
    const advanced = advanceUsageAudit(current, page, { now, finalAfterDays: 7 });
    if (advanced.isComplete) return { progress: advanced.progress, months };
    current = advanced.progress;
  }
}

test("the previous month is audited until it is final, 7 days after its end", () => {
  const early = auditAll({}, NOVEMBER_3, () => []);
  expect(early.months).toEqual(["2026-11", "2026-10"]);
  const late = auditAll(early.progress, NOVEMBER_9, () => []);
  expect(late.months).toEqual(["2026-11", "2026-10"]);
  expect(auditAll(late.progress, NOVEMBER_9, () => []).months).toEqual(["2026-11"]);
});

test("a month with differences is audited until they are gone, even after the next month has ended", () => {
  const november = auditAll({}, NOVEMBER_9, (month) => (month === "2026-10" ? [differs("w")] : []));
  expect(listDifferingPairs(november.progress)).toEqual(["2026-10 w"]);
  const later = new Date("2026-12-09T00:00:00Z");
  const december = auditAll(november.progress, later, (month) => (month === "2026-10" ? [fine("w")] : []));
  expect(december.months).toEqual(["2026-12", "2026-11", "2026-10"]);
  expect(listDifferingPairs(december.progress)).toEqual([]);
});

test("an audit with differences in several old months audits each of them once", () => {
  const differing = JSON.stringify(["2026-09 w", "2026-08 w"]);
  const { months, progress } = auditAll({ differing, finalMonth: "2026-10" }, NOVEMBER_9, (month) =>
    month < "2026-10" ? [differs("w")] : [],
  );
  expect(months).toEqual(["2026-11", "2026-09", "2026-08"]);
  expect(new Set(listDifferingPairs(progress))).toEqual(new Set(["2026-09 w", "2026-08 w"]));
});

test("even if the last page of a month has no differences, an audit continues with the next older month that has differences", () => {
  const differing = JSON.stringify(["2026-09 a", "2026-08 a"]);
  const page = { month: "2026-09", workspaces: [differs("a")], next: "a" };
  const first = advanceUsageAudit({ differing, finalMonth: "2026-10" }, page, optionsAt(NOVEMBER_9));
  const last = advanceUsageAudit(first.progress, { month: "2026-09", workspaces: [], next: "" }, optionsAt(NOVEMBER_9));
  expect(last.isComplete).toBe(false);
  expect(findNextPage(last.progress, NOVEMBER_9)).toEqual({ month: "2026-08", after: "" });
});

test("an audit skips the rest of an old month whose last difference is gone", () => {
  const differing = JSON.stringify(["2026-09 a", "2026-08 a"]);
  const page = { month: "2026-09", workspaces: [fine("a")], next: "a" };
  const { progress } = advanceUsageAudit({ differing, finalMonth: "2026-10" }, page, optionsAt(NOVEMBER_9));
  expect(findNextPage(progress, NOVEMBER_9)).toEqual({ month: "2026-08", after: "" });
});

test("a month with a difference on its first page is not final, even if 1,000 other workspaces differed before", () => {
  const others = Array.from({ length: 1_000 }, (_, n) => `${n}`);
  const differing = JSON.stringify(others.flatMap((id) => [`2026-09 ${id}`, `2026-10 ${id}`]));
  const pages = [[differs("new")], others.map(fine)];
  let progress: UsageAuditProgress = { month: "2026-10", after: "", differing };
  for (const [index, workspaces] of pages.entries()) {
    const page = { month: "2026-10", workspaces, next: index === 0 ? "new" : "" };
    progress = advanceUsageAudit(progress, page, optionsAt(NOVEMBER_9)).progress;
  }
  expect(progress.finalMonth).toBeUndefined();
  expect(listDifferingPairs(progress).filter((each) => each.startsWith("2026-10"))).toEqual(["2026-10 new"]);
});

test("an audit continues after the previous page's last workspace, and keeps the differences of earlier pages", () => {
  const first = advanceUsageAudit(
    {},
    { month: "2026-11", workspaces: [differs("a"), fine("b")], next: "b" },
    optionsAt(NOVEMBER_3),
  );
  expect(first.isComplete).toBe(false);
  expect(findNextPage(first.progress, NOVEMBER_3)).toEqual({ month: "2026-11", after: "b" });
  const second = advanceUsageAudit(
    first.progress,
    { month: "2026-11", workspaces: [fine("c")], next: "" },
    optionsAt(NOVEMBER_3),
  );
  expect(listDifferingPairs(second.progress)).toEqual(["2026-11 a"]);
  expect(findNextPage(second.progress, NOVEMBER_3)).toEqual({ month: "2026-10", after: "" });
});

test("an audit that began before a month could be final does not make it final", () => {
  const page = (next: string) => ({ month: "2026-10", workspaces: [], next });
  const first = advanceUsageAudit({ month: "2026-10", after: "" }, page("a"), optionsAt(NOVEMBER_3));
  expect(advanceUsageAudit(first.progress, page(""), optionsAt(NOVEMBER_9)).progress.finalMonth).toBeUndefined();
});

function optionsAt(now: Date) {
  return { now, finalAfterDays: 7 };
}
