import type { Bot, BotUsage } from "@parley/rpc/conversation";
import type { GetUsageResponse } from "@parley/rpc/quota";

export type BotShare = {
  /** Empty for the messages that no bot's count contains. */
  slug: string;
  name: string;
  messages: number;
};

/** The name of the row for the messages that no bot's count contains. Corrections by the operator can make that row's number negative. */
const REST_NAME = "Corrections, and the last minute's answers";

/** Returns the messages of a month by bot, in the order of `usage`, then those that no bot's count contains. All add up to the month's usage. */
export function sharesOf(month: GetUsageResponse, usage: readonly BotUsage[], bots: readonly Bot[]): BotShare[] {
  const shares = usage
    .filter((each) => each.month === month.month)
    .map(({ botSlug: slug, messages }) => ({
      slug,
      name: bots.find((bot) => bot.slug === slug)?.display?.name || slug,
      messages,
    }));
  const rest = month.used - shares.reduce((sum, { messages }) => sum + messages, 0);
  return rest === 0 ? shares : [...shares, { slug: "", name: REST_NAME, messages: rest }];
}

/** Returns the rows of the CSV: a header, then a row for each month and bot. */
export function usageRows(months: readonly GetUsageResponse[], usage: readonly BotUsage[], bots: readonly Bot[]) {
  return [
    ["month", "bot", "bot_name", "messages"],
    ...months.flatMap((month) =>
      sharesOf(month, usage, bots).map(({ slug, name, messages }) => [month.month, slug, name, messages]),
    ),
  ];
}

export type Threshold = {
  percent: number;
  /** The number of messages that reaches the threshold. */
  messages: number;
  isReached: boolean;
};

/** Returns the thresholds of the quota: 80 %, as in the operator's metrics, and 100 %. Returns none if the quota is 0. */
export function thresholdsOf({ used, cap }: Pick<GetUsageResponse, "used" | "cap">): Threshold[] {
  if (cap === 0) return [];
  return [80, 100].map((percent) => {
    const messages = Math.ceil((cap * percent) / 100);
    return { percent, messages, isReached: used >= messages };
  });
}
