import { type Bot, BotAdminService } from "@parley/rpc/conversation";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useBots } from "../api/queries.ts";
import { useMayCall } from "../api/session.ts";
import { t } from "../i18n/t.tsx";
import { BotPicker } from "./bot-picker.tsx";
import { findBotOrFirst, resolveBotSlug } from "./chosen-bot.ts";
import { PageHeader } from "./page-header.tsx";
import { Empty, Failure, ScreenLoading } from "./states.tsx";

type BotScreenProps = {
  title: string;
  intro: string;
  path: "/knowledge" | "/answers" | "/questions" | "/evaluation" | "/moderation" | "/tools" | "/playground";
  isWide?: boolean;
  children: (bot: Bot) => ReactNode;
};

/**
 * Returns the slug in the URL, or else the last chosen slug. If no bot has this slug, returns the slug of the first bot, or an empty string if
 * there are no bots. While the bots are loading, the slug is not checked and may be empty.
 */
export function useBotSlug(): string {
  const { bot } = useSearch({ strict: false });
  const wantedSlug = resolveBotSlug(bot);
  const { data: bots } = useBots();
  return bots === undefined ? wantedSlug : (findBotOrFirst(bots, wantedSlug)?.slug ?? "");
}

/** A screen about one bot, with a picker for the bot. */
export function BotScreen({ title, intro, path, isWide = false, children }: BotScreenProps) {
  const botSlug = useBotSlug();
  const mayCreate = useMayCall(BotAdminService.method.createBot);
  const navigate = useNavigate();
  const { data: bots, error, refetch } = useBots();
  if (bots === undefined && !error) return <ScreenLoading />;
  const bot = bots && findBotOrFirst(bots, botSlug);
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
          title={t("No bot yet")}
          action={
            mayCreate && (
              <Link to="/bots" className="button primary">
                {t("Create a bot")}
              </Link>
            )
          }
        >
          {mayCreate ? t("Create a bot first.") : t("An owner of the workspace can create one.")}
        </Empty>
      )}
      {bot && children(bot)}
    </div>
  );
}
