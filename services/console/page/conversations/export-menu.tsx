import * as Menu from "@radix-ui/react-dropdown-menu";
import { type SyntheticEvent, useState } from "react";
import { type ConversationFilters, exportUrl } from "../api/conversations.ts";
import { errorText } from "../api/error-text.ts";
import { errorOf } from "../api/response-error.ts";
import { renewSession } from "../api/session-fetch.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Icon } from "../components/icon.tsx";
import { getDirection } from "../i18n/language.ts";
import { t } from "../i18n/t.tsx";

const FORMATS = [
  ["csv", t("For spreadsheets"), "CSV"],
  ["ndjson", t("For programs"), "NDJSON"],
] as const;

/** `number` is the key of the iframe: with a new number, the iframe loads even the same URL again. */
type Export = { number: number; url: string };

/** Downloads the conversations that the list's filters select. */
export function ExportMenu({ filters }: { filters: ConversationFilters }) {
  const announce = useAnnounce();
  const [latest, setLatest] = useState<Export | undefined>();
  const download = async (format: "csv" | "ndjson") => {
    try {
      // The download sends the session's token, which must not have expired.
      await renewSession();
      setLatest((before) => ({ number: (before?.number ?? 0) + 1, url: exportUrl(filters, format) }));
    } catch (error) {
      announce(errorText(error), { isError: true });
    }
  };
  const showError = ({ currentTarget }: SyntheticEvent<HTMLIFrameElement>) => {
    const body = currentTarget.contentDocument?.querySelector("pre")?.textContent ?? "";
    // A frame does not reveal the status of its response, hence 0.
    announce(errorText(errorOf(0, body)), { isError: true });
  };
  return (
    <>
      <Menu.Root modal={false} dir={getDirection()}>
        <Menu.Trigger className="button">
          <Icon name="download" />
          {t("Export")}
        </Menu.Trigger>
        <Menu.Content className="menu" align="end" sideOffset={6}>
          <Menu.Label className="menu-note">{describeSelection(filters)}</Menu.Label>
          {FORMATS.map(([format, purpose, name]) => (
            <Menu.Item key={format} className="menu-item" onSelect={() => void download(format)}>
              {name}
              <small className="muted">{purpose}</small>
            </Menu.Item>
          ))}
        </Menu.Content>
      </Menu.Root>
      {/* The browser saves an export as a file, so only an error loads in the frame. With a link, an error would replace the console. */}
      {latest && <iframe key={latest.number} src={latest.url} title={t("Export")} hidden onLoad={showError} />}
    </>
  );
}

function describeSelection({ q, from, to }: ConversationFilters): string {
  const selected =
    from || to
      ? t(
          "The conversations that match these filters and started on these days. The list uses the day of the last message instead.",
        )
      : t("The conversations that match these filters.");
  return q === undefined ? selected : `${selected} ${t("The search does not apply to the export.")}`;
}
