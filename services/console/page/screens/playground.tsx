import { Link } from "@tanstack/react-router";
import { BotScreen } from "../components/bot-screen.tsx";
import { Preview } from "../components/preview.tsx";

export function Playground() {
  return (
    <BotScreen
      title="Playground"
      intro="Talk to a bot as a visitor does. The bot's answers count towards this month's messages."
      path="/playground"
      isWide
    >
      {({ slug, display }) =>
        display && (
          <>
            <p>
              <Link to="/conversations" search={{ bot: slug, source: "playground" }}>
                Read what was said here
              </Link>{" "}
              with the passages, the tools and the duration of each answer.
            </p>
            <Preview key={slug} botSlug={slug} display={display} />
          </>
        )
      }
    </BotScreen>
  );
}
