import stringWidth from "string-width";
import { printable } from "../output/printable.ts";
import { formatCount, formatTable } from "../output/table.ts";
import type { Activity, Times } from "./activity.ts";
import { SERVICES } from "./scrape.ts";

export type Canvas = { width: number; height: number; color: boolean };

type Tone = "plain" | "title" | "bad";
type Line = { text: string; tone: Tone };

const SGR_CODES: Readonly<Record<Exclude<Tone, "plain">, number>> = { title: 1, bad: 31 };
const LABEL_WIDTH = 14;
const MAX_REFUSAL_ROWS = 6;
const NEAR_CAP_SHARE = 0.8;

/** Draws the activity as lines that fit the canvas. Every problem is readable without colour. */
export function drawActivity(activity: Activity, { width, height, color }: Canvas): string[] {
  const lines = [
    ...metricLines(activity),
    ...stateLines(activity),
    plainLine(""),
    ...refusalLines(activity),
    plainLine(""),
    ...quotaLines(activity),
  ];
  return lines.slice(0, Math.max(0, height)).map(({ text, tone }) => {
    const line = truncate(text, width);
    return color && tone !== "plain" ? `\u001b[${SGR_CODES[tone]}m${line}\u001b[0m` : line;
  });
}

const plainLine = (text: string): Line => ({ text, tone: "plain" });

function labelledLine(label: string, text: string, isBad = false): Line {
  return { text: `${label.padEnd(LABEL_WIDTH)}${text}`, tone: isBad ? "bad" : "plain" };
}

function metricLines(activity: Activity): Line[] {
  const { streams_open, tokens_per_second, turns_per_second, first_token, outbox } = activity;
  const { window_seconds } = first_token;
  const span = window_seconds === null ? "since the edges started" : `last ${window_seconds} s`;
  const oldest = formatNumber(outbox.oldest_seconds);
  const providers = activity.provider_first_token.map((each) => `${printable(each.provider)} ${formatTimes(each)}`);
  return [
    labelledLine("streams open", formatNumber(streams_open)),
    labelledLine("tokens", `${formatNumber(tokens_per_second)} a second`),
    labelledLine("turns", `${formatNumber(turns_per_second)} a second`),
    labelledLine("first token", `${formatTimes(first_token)}, ${span}`),
    labelledLine("  Parley", formatTimes(activity.own_first_token)),
    labelledLine("  provider", providers.join("; ") || "–"),
    labelledLine("outbox", `${formatCount(outbox.depth, "turn")} to settle, the oldest ${oldest} s`),
  ];
}

function formatTimes({ p50_ms, p99_ms }: Times): string {
  return `p50 ${formatNumber(p50_ms)} ms, p99 ${formatNumber(p99_ms)} ms`;
}

function stateLines({ breakers, replicas, rate_limiter_alone, problems }: Activity): Line[] {
  const providers = breakers.map(({ provider, state }) => {
    const words = state.replace("_", " ");
    return `${printable(provider)} ${state === "closed" ? words : words.toUpperCase()}`;
  });
  const counts = SERVICES.map((service) => {
    const all = replicas.filter((each) => each.service === service);
    if (all.length === 0) return `${service} not configured`;
    const ready = all.filter(({ up }) => up).length;
    return `${service} ${ready} of ${all.length}${ready < all.length ? " ready" : ""}`;
  });
  const fallback = rate_limiter_alone
    ? ["an edge made its last rate limit decision on its own: Redis did not respond"]
    : [];
  return [
    labelledLine(
      "breakers",
      providers.join(", ") || "–",
      breakers.some(({ state }) => state !== "closed"),
    ),
    labelledLine(
      "replicas",
      counts.join(", "),
      replicas.some(({ up }) => !up),
    ),
    ...[...fallback, ...problems].map((problem) => labelledLine("", `! ${printable(problem)}`, true)),
  ];
}

function refusalLines({ refusals }: Activity): Line[] {
  const rows = refusals.slice(0, MAX_REFUSAL_ROWS).map((each) => [each.reason, each.per_minute, each.total]);
  return tableLines(formatTable(["refusals", "a minute", "total"], rows, "No refusals."));
}

function quotaLines({ quota }: Activity): Line[] {
  if (quota === null) return [plainLine("Quota usage is unavailable.")];
  const rows = quota.map(({ id, name, plan, used, held, cap }) => {
    return [id, name, plan, used, held, cap, `${Math.floor((100 * (used + held)) / cap)} %`];
  });
  const titles = ["nearest to the cap", "name", "plan", "used", "held", "cap", "share"];
  return tableLines(
    formatTable(titles, rows, "No messages this month."),
    quota.map(({ used, held, cap }) => used + held >= NEAR_CAP_SHARE * cap),
  );
}

/** Splits a table into lines and marks problem rows. A text of one line is the message that replaces an empty table. */
function tableLines(text: string, isBad: readonly boolean[] = []): Line[] {
  const [title = "", ...rows] = text.trimEnd().split("\n");
  if (rows.length === 0) return [plainLine(title)];
  return [
    { text: title, tone: "title" },
    ...rows.map((row, index): Line => ({ text: row, tone: isBad[index] ? "bad" : "plain" })),
  ];
}

function formatNumber(value: number | null): string {
  return value === null ? "–" : value.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

function truncate(line: string, width: number): string {
  if (stringWidth(line) <= width) return line;
  let remaining = width;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    remaining -= stringWidth(segment);
    if (remaining < 0) break;
    kept += segment;
  }
  return kept;
}
