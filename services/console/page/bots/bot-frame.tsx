import type { Bot } from "@parley/rpc/conversation";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useBots } from "../api/queries.ts";
import { BotPicker } from "../components/bot-picker.tsx";
import { Breadcrumb } from "../components/breadcrumb.tsx";
import { PageHeader } from "../components/page-header.tsx";
import { type Display, Preview } from "../components/preview.tsx";
import { T, t } from "../i18n/t.tsx";
import { BotActions } from "./bot-actions.tsx";

type BotFrameProps = { bot: Bot; display: Display; hint: string; children: ReactNode };

/** A screen about one bot: its name, the settings (`children`) and the widget's preview. */
export function BotFrame({ bot, display, hint, children }: BotFrameProps) {
  const name = bot.display?.name || bot.slug;
  const { data: bots = [bot] } = useBots();
  const navigate = useNavigate();
  const choose = (slug: string) => void navigate({ to: "/bots/$slug", params: { slug } });
  return (
    <div className="screen wide">
      <Breadcrumb title={name}>
        <Link to="/bots" activeOptions={{ exact: true }}>
          {t("Bots")}
        </Link>
      </Breadcrumb>
      <PageHeader
        title={name}
        actions={
          <>
            <BotPicker bots={bots} value={bot.slug} onChange={choose} />
            <BotActions bot={bot} />
          </>
        }
      >
        <T text="Short name {slug}" slug={<code>{bot.slug}</code>} />
      </PageHeader>
      <div className="editor">
        {children}
        <aside className="preview" aria-label={t("Preview")}>
          <h2>{t("Preview")}</h2>
          <p className="hint">{hint}</p>
          <Preview botSlug={bot.slug} display={display} />
        </aside>
      </div>
    </div>
  );
}
