import { BotAdminService } from "@parley/rpc/conversation";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useBots } from "../api/queries.ts";
import { useMayCall } from "../api/session.ts";
import { CreateBot } from "../bots/create-bot.tsx";
import { Icon } from "../components/icon.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { Empty, Failure, Loading } from "../components/states.tsx";
import { t } from "../i18n/t.tsx";

export function Bots() {
  const { data: bots, error, refetch } = useBots();
  const [isCreating, setCreating] = useState(false);
  const mayCreate = useMayCall(BotAdminService.method.createBot);
  const createButton = mayCreate && (
    <button type="button" className="button primary" onClick={() => setCreating(true)}>
      <Icon name="plus" />
      {t("New bot")}
    </button>
  );
  return (
    <div className="screen">
      <PageHeader title={t("Bots")} actions={bots && bots.length > 0 && createButton}>
        {t("Each bot has its own looks, instructions and knowledge.")}
      </PageHeader>
      {error && !bots && <Failure error={error} onRetry={refetch} />}
      {!error && !bots && <Loading />}
      {bots?.length === 0 && (
        <Empty icon="bot" title={t("No bot yet")} action={createButton}>
          {mayCreate
            ? t("Create a bot, give it knowledge, and put it on your site.")
            : t("An owner of the workspace can create one.")}
        </Empty>
      )}
      {bots && bots.length > 0 && (
        <ul className="cards">
          {bots.map(({ slug, display, model }) => (
            <li key={slug}>
              <Link to="/bots/$slug" params={{ slug }} className="card bot-card">
                <BotMark name={display?.name ?? slug} color={display?.primaryColor ?? ""} />
                <span className="card-text">
                  <strong>{display?.name ?? slug}</strong>
                  <small>{slug}</small>
                  <small className="muted">{model || t("Default model")}</small>
                </span>
                <Icon name="chevronRight" />
              </Link>
            </li>
          ))}
        </ul>
      )}
      {isCreating && <CreateBot onClose={() => setCreating(false)} />}
    </div>
  );
}

/** The first character of the bot's name on the bot's colour. */
function BotMark({ name, color }: { name: string; color: string }) {
  return (
    <svg className="bot-mark" viewBox="0 0 40 40" aria-hidden="true">
      <rect width="40" height="40" rx="11" fill={color} />
      <text x="20" y="26" textAnchor="middle" fill={isLight(color) ? "#111" : "#fff"}>
        {Array.from(name)[0]?.toUpperCase()}
      </text>
    </svg>
  );
}

/** Whether dark text is easier to read on a colour than white text. The weights are those of ITU-R BT.601 for perceived brightness. */
function isLight(hex: string): boolean {
  const [red = 0, green = 0, blue = 0] = (hex.match(/[0-9a-f]{2}/gi) ?? []).map((part) => Number.parseInt(part, 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150;
}
