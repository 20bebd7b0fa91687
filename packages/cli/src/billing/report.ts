import { stringify } from "csv-stringify/sync";
import type { Result } from "../output/result.ts";
import { table } from "../output/table.ts";
import type { Billing } from "./billing.ts";
import { roundedText } from "./decimal.ts";

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
] as const;

/** Every workspace's month: for people a table with its totals, or CSV. */
export function report(billing: Billing, as: "table" | "csv"): Result {
  return {
    json: billing,
    text: as === "csv" ? csv(billing) : describe(billing),
  };
}

/**
 * RFC 4180: lines end in CRLF, and what needs quotes has them. A name that a spreadsheet would take for a formula begins with an
 * apostrophe, which spreadsheets do not show.
 */
function csv({ month, workspaces }: Billing): string {
  return stringify(
    workspaces.map((each) => ({ month, ...each })),
    {
      header: true,
      columns: [...COLUMNS],
      record_delimiter: "windows",
      escape_formulas: true,
      // By itself it quotes the whole delimiter alone, and readers take half of it for one.
      quoted_match: /[\r\n]/,
    },
  );
}

function describe({ month, workspaces, totals }: Billing): string {
  const rows = workspaces.map((each) => [
    ...[each.id, each.name, each.plan, each.used, each.cap],
    ...[each.calls, each.tokens_in, each.tokens_out, roundedText(each.cost, COST_PLACES)],
  ]);
  const sum = ["total", "", "", totals.used, "", totals.calls, totals.tokens_in, totals.tokens_out];
  const books = table(
    ["workspace", "name", "plan", "used", "cap", "calls", "tokens in", "tokens out", "cost"],
    rows.length === 0 ? [] : [...rows, [...sum, roundedText(totals.cost, COST_PLACES)]],
    "No workspaces yet.",
  );
  const notes = [
    `The month is ${month}, UTC; the cost is in the currency of your price table.`,
    ...(totals.held > 0 ? [`${totals.held} turns are still open: these figures are not final.`] : []),
    ...(totals.unpriced_calls > 0
      ? [`${totals.unpriced_calls} calls had no price and are not in the cost: give their models one in LLM_CONFIG.`]
      : []),
    ...(totals.estimated_calls > 0
      ? [`${totals.estimated_calls} calls came without the provider's own count of tokens: Parley counted them.`]
      : []),
  ];
  return `${books}\n${notes.join("\n")}\n`;
}
