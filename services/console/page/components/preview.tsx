import type { BotDisplay, BotTexts } from "@parley/rpc/conversation";
import { useEffect, useRef, useState } from "react";
import { t } from "../i18n/t.tsx";
import type { PreviewMessage } from "./preview-message.ts";
import { withoutBlanks } from "./without-blanks.ts";

export type Display = Omit<BotDisplay, "$typeName" | "$unknown" | "texts"> & {
  texts: Readonly<Record<string, LanguageTexts>>;
};

/** A bot's texts for visitors who see the widget in one language. Empty ones replace nothing. */
export type LanguageTexts = Omit<BotTexts, "$typeName" | "$unknown">;

/** Shows the real widget with this display configuration in a frame. Its replies come from the saved bot, without unsaved changes. */
export function Preview({ botSlug, display }: { botSlug: string; display: Display }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const onMessage = ({ origin, source, data }: MessageEvent) => {
      if (origin === location.origin && source === frame.current?.contentWindow && data === "ready") setReady(true);
    };
    window.addEventListener("message", onMessage);
    return () => window.removeEventListener("message", onMessage);
  }, []);
  const message = JSON.stringify(toMessage(botSlug, display));
  useEffect(() => {
    if (isReady) frame.current?.contentWindow?.postMessage(JSON.parse(message), location.origin);
  }, [isReady, message]);
  return <iframe ref={frame} className="preview-frame" title={t("Preview of the widget")} src="/preview" />;
}

function toMessage(botSlug: string, display: Display): PreviewMessage {
  return {
    botSlug,
    display: {
      name: display.name,
      welcome_message: display.welcomeMessage,
      logo_url: display.logoUrl,
      primary_color: display.primaryColor,
      position: display.position,
      theme_mode: display.themeMode,
      font_family: display.fontFamily,
      border_radius: display.borderRadius,
      quick_replies: display.quickReplies,
      custom_css_vars: display.customCssVars,
      texts: Object.fromEntries(
        Object.entries(display.texts).map(([language, { welcomeMessage, quickReplies, words }]) => [
          language,
          {
            ...(welcomeMessage !== "" && { welcome_message: welcomeMessage }),
            ...(withoutBlanks(quickReplies).length > 0 && { quick_replies: withoutBlanks(quickReplies) }),
            words,
          },
        ]),
      ),
    },
  };
}
