import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { type BotDisplay, BotDisplaySchema, type BotTexts } from "@parley/rpc/conversation";
import { useEffect, useRef, useState } from "react";
import { t } from "../i18n/t.tsx";
import { withoutBlanks } from "./without-blanks.ts";

export type Display = Omit<BotDisplay, "$typeName" | "$unknown" | "texts"> & {
  texts: Readonly<Record<string, LanguageTexts>>;
};

/** A bot's texts for visitors who see the widget in one language. Empty ones replace nothing. */
export type LanguageTexts = Omit<BotTexts, "$typeName" | "$unknown">;

/** The console's message to the preview: the bot, and its display configuration in the format of the widget's config endpoint. */
export type PreviewMessage = { botSlug: string; display: JsonObject };

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

function toMessage(botSlug: string, { texts, ...display }: Display): PreviewMessage {
  const bot = create(BotDisplaySchema, {
    ...display,
    texts: Object.fromEntries(
      Object.entries(texts).map(([language, { fallback, consentText, quickReplies, ...each }]) => [
        language,
        { ...each, quickReplies: withoutBlanks(quickReplies) },
      ]),
    ),
  });
  const withEmptyFields = toJson(BotDisplaySchema, bot, { useProtoFieldName: true, alwaysEmitImplicit: true });
  // The endpoint leaves out the texts of a language that do not replace the bot's own.
  const withoutEmptyFields = toJson(BotDisplaySchema, bot, { useProtoFieldName: true });
  return { botSlug, display: { ...(withEmptyFields as JsonObject), ...(withoutEmptyFields as JsonObject) } };
}
