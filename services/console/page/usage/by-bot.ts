import type { Bot, BotUsage } from "@parley/rpc/conversation";
import type { MonthlyUsage } from "@parley/rpc/quota";
import { t } from "../i18n/t.tsx";

export type BotEntry = {
  /** Empty for the messages that no bot's count contains. */
  slug: string;
  name: string;
  messages: number;
};

/** The name of the entry for the messages that no bot's count contains. A correction by the operator can make its `messages` negative. */
const REST_NAME = t("Corrections, and the last minute's answers");

/**
 * Returns a month's messages by bot, in the order of `usage`. If their sum differs from `month.used`, a last entry holds the difference.
 */
export function splitByBot(month: MonthlyUsage, usage: readonly BotUsage[], bots: readonly Bot[]): BotEntry[] {
  const entries = usage
    .filter((each) => each.month === month.month)
    .map(({ botSlug: slug, messages }) => ({
      slug,
      name: bots.find((bot) => bot.slug === slug)?.display?.name || slug,
      messages,
    }));
  const rest = month.used - entries.reduce((sum, { messages }) => sum + messages, 0);
  return rest === 0 ? entries : [...entries, { slug: "", name: REST_NAME, messages: rest }];
}

/** Returns the rows of the CSV, header first. */
export function usageRows(months: readonly MonthlyUsage[], usage: readonly BotUsage[], bots: readonly Bot[]) {
  return [
    ["month", "bot", "bot_name", "messages"],
    ...months.flatMap((month) =>
      splitByBot(month, usage, bots).map(({ slug, name, messages }) => [month.month, slug, name, messages]),
    ),
  ];
}

export type Threshold = {
  percent: number;
  /** The smallest number of messages that reaches the threshold. */
  messages: number;
  isReached: boolean;
};

/** Returns the warning thresholds of these percentages, or none if the quota is 0. */
export function thresholdsOf(
  { used, cap }: Pick<MonthlyUsage, "used" | "cap">,
  percents: readonly number[],
): Threshold[] {
  if (cap === 0) return [];
  return percents.map((percent) => {
    const messages = Math.ceil((cap * percent) / 100);
    return { percent, messages, isReached: used >= messages };
  });
}
