import { Link } from "@tanstack/react-router";
import { BotScreen } from "../components/bot-screen.tsx";
import { Preview } from "../components/preview.tsx";
import { t } from "../i18n/t.tsx";

export function Playground() {
  return (
    <BotScreen
      title={t("Playground")}
      intro={t("Talk to a bot as a visitor does. The bot's answers count towards this month's messages.")}
      path="/playground"
      isWide
    >
      {({ slug, display }) =>
        display && (
          <>
            <p>
              <Link to="/conversations" search={{ bot: slug, source: "playground" }}>
                {t("Read what was said here with the passages, the tools and the duration of each answer.")}
              </Link>
            </p>
            <Preview key={slug} botSlug={slug} display={display} />
          </>
        )
      }
    </BotScreen>
  );
}
