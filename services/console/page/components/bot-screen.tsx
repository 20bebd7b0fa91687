import { type Bot, BotAdminService } from "@parley/rpc/conversation";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useBots } from "../api/queries.ts";
import { useMayCall } from "../api/session.ts";
import { BotPicker } from "./bot-picker.tsx";
import { resolveBotSlug } from "./chosen-bot.ts";
import { PageHeader } from "./page-header.tsx";
import { Empty, Failure, ScreenLoading } from "./states.tsx";

type BotScreenProps = {
  title: string;
  intro: string;
  path: "/knowledge" | "/questions" | "/evaluation" | "/moderation" | "/tools" | "/playground";
  isWide?: boolean;
  /** The screen's content for the chosen bot. */
  children: (bot: Bot) => ReactNode;
};

/**
 * Returns the slug of the bot in the URL, or else of the last chosen bot. Until the bots are loaded, the slug is unchecked and may be empty.
 * After that, if no bot has it, returns the first bot's slug; empty if there are no bots.
 */
export function useBotSlug(): string {
  const { bot } = useSearch({ strict: false });
  const wantedSlug = resolveBotSlug(bot);
  const { data: bots } = useBots();
  return bots === undefined ? wantedSlug : (findBot(bots, wantedSlug)?.slug ?? "");
}

/** Returns the bot with this slug, or else the first bot. */
function findBot(bots: readonly Bot[], slug: string): Bot | undefined {
  return bots.find((each) => each.slug === slug) ?? bots[0];
}

/** A screen about one bot, which the owner chooses at its top. */
export function BotScreen({ title, intro, path, isWide = false, children }: BotScreenProps) {
  const botSlug = useBotSlug();
  const mayCreate = useMayCall(BotAdminService.method.createBot);
  const navigate = useNavigate();
  const { data: bots, error, refetch } = useBots();
  if (bots === undefined && !error) return <ScreenLoading />;
  const bot = bots && findBot(bots, botSlug);
  const choose = (slug: string) => void navigate({ to: path, search: { bot: slug } });
  return (
    <div className={isWide ? "screen wide" : "screen"}>
      <PageHeader title={title} actions={bots && bot && <BotPicker bots={bots} value={bot.slug} onChange={choose} />}>
        {intro}
      </PageHeader>
      {bots === undefined && <Failure error={error} onRetry={refetch} />}
      {bots && !bot && (
        <Empty
          icon="bot"
          title="No bot yet"
          action={
            mayCreate && (
              <Link to="/bots" className="button primary">
                Create a bot
              </Link>
            )
          }
        >
          {mayCreate ? "Create a bot first." : "An owner of the workspace can create one."}
        </Empty>
      )}
      {bot && children(bot)}
    </div>
  );
}
