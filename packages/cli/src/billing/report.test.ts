import { expect, test } from "vitest";
import type { Bill, BillingRun } from "./billing.ts";
import { reportBilling } from "./report.ts";

const NO_USAGE = {
  held: 0,
  adjusted: 0,
  credit_used: 0,
  overage_used: 0,
  calls: 0,
  tokens_in: 0,
  tokens_out: 0,
  tokens_cached: 0,
  cost: "0",
  unpriced_calls: 0,
  estimated_calls: 0,
};
const workspace = (id: string, name: string): Bill => ({ id, name, plan: "pro", cap: 5_000, used: 0, ...NO_USAGE });

const billing = (...workspaces: Bill[]): BillingRun => ({
  month: "2026-10",
  workspaces,
  totals: { used: 0, ...NO_USAGE },
});

const HEADER =
  "month,id,name,plan,cap,used,held,calls,tokens_in,tokens_out,cost,unpriced_calls,estimated_calls,adjusted,tokens_cached,credit_used,overage_used\r\n";

test("the CSV follows RFC 4180: its lines end with CRLF, and it quotes only values that need quotes", () => {
  const names = ['Müller, "Söhne" & Co', "two\nlines", "a\rreturn", "plain"];
  const { text } = reportBilling(billing(...names.map((name, index) => workspace(`w${index}`, name))), "csv");
  expect(text).toBe(
    `${HEADER}2026-10,w0,"Müller, ""Söhne"" & Co",pro,5000,0,0,0,0,0,0,0,0,0,0,0,0\r\n` +
      '2026-10,w1,"two\nlines",pro,5000,0,0,0,0,0,0,0,0,0,0,0,0\r\n' +
      '2026-10,w2,"a\rreturn",pro,5000,0,0,0,0,0,0,0,0,0,0,0,0\r\n' +
      "2026-10,w3,plain,pro,5000,0,0,0,0,0,0,0,0,0,0,0,0\r\n",
  );
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", '=HYPERLINK("https://x.example","y")'])(
  "the CSV escapes a name that a spreadsheet would run as a formula: %j",
  (name) => {
    const { text } = reportBilling(billing(workspace("w", name)), "csv");
    const [, cell = ""] = /^2026-10,w,(.*),pro,/m.exec(text) ?? [];
    expect(cell.replace(/^"/, "")).toMatch(/^'/);
  },
);

test("without workspaces, the CSV is only the header and the table is a message", () => {
  expect(reportBilling(billing(), "csv").text).toBe(HEADER);
  expect(reportBilling(billing(), "table").text).toMatch(/^No workspaces yet\.\n/);
});

test("the table shows totals and notes about unsettled turns, corrections, unpriced calls and estimated tokens", () => {
  const totals = { used: 3, ...NO_USAGE, held: 1, adjusted: -2, unpriced_calls: 2, estimated_calls: 1, cost: "1234.5" };
  const { text } = reportBilling({ ...billing(workspace("w", "Acme")), totals }, "table");
  expect(text).toMatch(/^total .* 1,234\.50$/m);
  expect(text).toMatch(/^1 turn is not settled yet, /m);
  expect(text).toMatch(/^total +3 +-2 /m);
  expect(text).toMatch(/include the corrections/);
  expect(text).toMatch(/^2 calls have no price, /m);
  expect(text).toMatch(/^1 call has no token count /m);
});

test("the table of a run that sorts by growth shows the replies of both weeks and their difference", () => {
  const weeks = { last_week: 12, week_before: 20 };
  const run = { ...billing({ ...workspace("w", "Acme"), ...weeks }), totals: { used: 0, ...NO_USAGE, ...weeks } };
  const { text } = reportBilling(run, "table");
  expect(text).toMatch(/ COST +LAST 7 DAYS +7 DAYS BEFORE +GROWTH\n/);
  expect(text).toMatch(/^w +Acme .* 0\.00 +12 +20 +-8$/m);
  expect(text).toMatch(/^total .* 0\.00 +12 +20 +-8$/m);
});
