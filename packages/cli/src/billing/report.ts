import { stringify } from "csv-stringify/sync";
import type { Result } from "../output/result.ts";
import { formatCount, formatTable } from "../output/table.ts";
import { type BillingRun, growthOf, type Weeks } from "./billing.ts";
import { formatRounded } from "./decimal.ts";

const COST_PLACES = 4;

const COLUMNS = [
  "month",
  "id",
  "name",
  "plan",
  "cap",
  "used",
  "held",
  "calls",
  "tokens_in",
  "tokens_out",
  "cost",
  "unpriced_calls",
  "estimated_calls",
  "adjusted",
  "tokens_cached",
  "credit_used",
  "overage_used",
] as const;

export function reportBilling(billing: BillingRun, format: "table" | "csv"): Result {
  return {
    json: billing,
    text: format === "csv" ? formatCsv(billing) : formatText(billing),
  };
}

/** Formats RFC 4180 CSV. Puts an apostrophe before a name that a spreadsheet would run as a formula. */
function formatCsv({ month, workspaces }: BillingRun): string {
  return stringify(
    workspaces.map((each) => ({ month, ...each })),
    {
      header: true,
      columns: [...COLUMNS],
      record_delimiter: "windows",
      escape_formulas: true,
      // CSV parsers also end a record at a lone CR or LF, but csv-stringify by default quotes only values with a CRLF.
      quoted_match: /[\r\n]/,
    },
  );
}

function formatText({ month, workspaces, totals }: BillingRun): string {
  const hasWeeks = totals.last_week !== undefined;
  const weekCells = (each: Weeks) => (hasWeeks ? [each.last_week ?? 0, each.week_before ?? 0, growthOf(each)] : []);
  const rows = workspaces.map((each) => [
    ...[each.id, each.name, each.plan, each.used, each.adjusted, each.cap],
    ...[
      each.calls,
      each.tokens_in,
      each.tokens_cached,
      each.tokens_out,
      formatRounded(each.cost, COST_PLACES),
      ...weekCells(each),
    ],
  ]);
  const totalRow = [
    "total",
    "",
    "",
    totals.used,
    totals.adjusted,
    "",
    totals.calls,
    totals.tokens_in,
    totals.tokens_cached,
    totals.tokens_out,
  ];
  const tableText = formatTable(
    [
      ...["workspace", "name", "plan", "used", "adjusted", "cap", "calls", "tokens in", "cached", "tokens out", "cost"],
      ...(hasWeeks ? ["last 7 days", "7 days before", "growth"] : []),
    ],
    rows.length === 0 ? [] : [...rows, [...totalRow, formatRounded(totals.cost, COST_PLACES), ...weekCells(totals)]],
    "No workspaces yet.",
  );
  const notes = [
    `The month is ${month}, UTC. The cost is in the currency of your price table.`,
    ...(hasWeeks ? ["The growth is the replies of the last 7 days minus those of the 7 days before."] : []),
    ...(totals.held > 0
      ? [`${formatCount(totals.held, "turn is", "turns are")} not settled yet, so these figures are not final.`]
      : []),
    ...(totals.adjusted !== 0
      ? ['The figures in the column "used" include the corrections in the column "adjusted".']
      : []),
    ...(totals.credit_used + totals.overage_used > 0
      ? [
          `The figures in the column "used" include ${formatCount(totals.credit_used, "message")} of credits and ${formatCount(totals.overage_used, "message")} of overage. See them with --csv.`,
        ]
      : []),
    ...(totals.unpriced_calls > 0
      ? [
          `${formatCount(totals.unpriced_calls, "call has", "calls have")} no price, so the cost is incomplete. Set prices for all models in LLM_CONFIG.`,
        ]
      : []),
    ...(totals.estimated_calls > 0
      ? [
          `${formatCount(totals.estimated_calls, "call has", "calls have")} no token count from the provider. Parley counted or estimated the tokens.`,
        ]
      : []),
  ];
  return `${tableText}\n${notes.join("\n")}\n`;
}
