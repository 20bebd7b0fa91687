import stringWidth from "string-width";
import { printable } from "../output/printable.ts";
import { table } from "../output/table.ts";
import type { Picture } from "./picture.ts";
import { SERVICES } from "./scrape.ts";

/** What a terminal can show. */
export type Canvas = { width: number; height: number; color: boolean };

type Tone = "plain" | "title" | "bad";
type Line = { text: string; tone: Tone };

const CODES: Readonly<Record<Exclude<Tone, "plain">, number>> = { title: 1, bad: 31 };
const LABEL_WIDTH = 14;
const MAX_REFUSALS = 6;
const NEAR_SHARE = 0.8;

/** A picture as lines, none wider than the canvas and no more than it has. What is wrong is in words, colour only underlines it. */
export function draw(picture: Picture, { width, height, color }: Canvas): string[] {
  const lines = [
    ...figures(picture),
    ...states(picture),
    plain(""),
    ...refused(picture),
    plain(""),
    ...nearest(picture),
  ];
  return lines.slice(0, Math.max(0, height)).map(({ text, tone }) => {
    const short = cut(text, width);
    return color && tone !== "plain" ? `\u001b[${CODES[tone]}m${short}\u001b[0m` : short;
  });
}

const plain = (text: string): Line => ({ text, tone: "plain" });

function labelled(label: string, text: string, isBad = false): Line {
  return { text: `${label.padEnd(LABEL_WIDTH)}${text}`, tone: isBad ? "bad" : "plain" };
}

function figures({ streams_open, tokens_per_second, turns_per_second, first_token, outbox }: Picture): Line[] {
  const { p50_ms, p99_ms, window_seconds } = first_token;
  const span = window_seconds === null ? "since the start" : `last ${window_seconds} s`;
  const oldest = number(outbox.oldest_seconds);
  return [
    labelled("streams open", number(streams_open)),
    labelled("tokens", `${number(tokens_per_second)} a second`),
    labelled("turns", `${number(turns_per_second)} a second`),
    labelled("first token", `p50 ${number(p50_ms)} ms, p99 ${number(p99_ms)} ms, ${span}`),
    labelled("outbox", `${number(outbox.depth)} turns wait to be settled, the oldest ${oldest} s`),
  ];
}

function states({ breakers, replicas, rate_limiter_alone, problems }: Picture): Line[] {
  const providers = breakers.map(({ provider, state }) => {
    const text = `${printable(provider)} ${state.replace("_", " ")}`;
    return state === "closed" ? text : text.toUpperCase();
  });
  const counts = SERVICES.map((service) => {
    const all = replicas.filter((each) => each.service === service);
    return all.length === 0
      ? `${service} not asked`
      : `${service} ${all.filter(({ up }) => up).length} of ${all.length}`;
  });
  const away = replicas.filter(({ up }) => !up).map(({ service, url }) => `${service} at ${url} does not answer`);
  const alone = rate_limiter_alone ? ["an edge limits alone: Redis does not answer it"] : [];
  return [
    labelled(
      "breakers",
      providers.join(", ") || "–",
      breakers.some(({ state }) => state !== "closed"),
    ),
    labelled("replicas", counts.join(", "), away.length > 0),
    ...[...away, ...alone, ...problems].map((problem) => labelled("", `! ${printable(problem)}`, true)),
  ];
}

function refused({ refusals }: Picture): Line[] {
  const rows = refusals.slice(0, MAX_REFUSALS).map((each) => [each.reason, each.per_minute, each.total]);
  return titled(table(["refusals", "a minute", "in all"], rows, "No refusals."));
}

function nearest({ quota }: Picture): Line[] {
  if (quota === null) return [plain("The quota's figures are not to be had.")];
  const rows = quota.map(({ id, name, plan, used, held, cap }) => {
    return [id, name, plan, used, held, cap, `${Math.floor((100 * (used + held)) / cap)} %`];
  });
  const titles = ["nearest to the cap", "name", "plan", "used", "held", "cap", "share"];
  return titled(
    table(titles, rows, "No messages this month."),
    quota.map(({ used, held, cap }) => used + held >= NEAR_SHARE * cap),
  );
}

/** A table's lines, those that are bad marked as such; a lone line is no title. */
function titled(text: string, isBad: readonly boolean[] = []): Line[] {
  const [title = "", ...rows] = text.trimEnd().split("\n");
  if (rows.length === 0) return [plain(title)];
  return [
    { text: title, tone: "title" },
    ...rows.map((row, index): Line => ({ text: row, tone: isBad[index] ? "bad" : "plain" })),
  ];
}

function number(value: number | null): string {
  return value === null ? "–" : value.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/** Cuts a line where it would wrap. */
function cut(line: string, width: number): string {
  if (stringWidth(line) <= width) return line;
  let left = width;
  let kept = "";
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    left -= stringWidth(segment);
    if (left < 0) break;
    kept += segment;
  }
  return kept;
}
