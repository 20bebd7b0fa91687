import { useQuery } from "@tanstack/react-query";
import { memo, useRef } from "react";
import { useSession } from "../api/session.ts";
import { sourceQuery } from "../api/source-queries.ts";
import { Icon } from "../components/icon.tsx";
import { getLocale } from "../i18n/language.ts";
import { plural, t } from "../i18n/t.tsx";
import { isPending, type Upload } from "./upload-store.ts";
import "./uploads.css";

const TIME = new Intl.DateTimeFormat(getLocale(), { dateStyle: "medium", timeStyle: "medium" });

type UploadListProps = {
  botSlug: string;
  uploads: readonly Upload[];
  canRetry: boolean;
  onRetry: () => void;
  onClear: () => void;
};

/** Shows how many files are uploaded, and each file in a list of a fixed height: problems first, then the files that are being sent. */
export function UploadList({ botSlug, uploads, canRetry, onRetry, onClear }: UploadListProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const count = (...states: Upload["state"][]) => uploads.filter(({ state }) => states.includes(state)).length;
  const pending = count("waiting", "sending");
  const added = count("added");
  const ordered = [...uploads].sort((a, b) => ORDER[a.state] - ORDER[b.state]);
  const clear = () => {
    // With this list, the button disappears.
    (document.querySelector<HTMLElement>(".drop-zone button") ?? heading.current)?.focus();
    onClear();
  };
  const retry = () => {
    heading.current?.focus();
    onRetry();
  };
  return (
    <section className="panel uploads" aria-labelledby="uploads">
      <div className="panel-header">
        <h2 id="uploads" ref={heading} tabIndex={-1}>
          {t("Uploads")}
        </h2>
        <div className="row-actions">
          {canRetry && pending === 0 && (
            <button type="button" className="button small" onClick={retry}>
              {t("Try failed files again")}
            </button>
          )}
          {pending < uploads.length && (
            <button type="button" className="button small" onClick={clear}>
              {t("Clear finished")}
            </button>
          )}
        </div>
      </div>
      <div>
        <p className="upload-total">{describeTotal(uploads.length, added, count("failed"), count("lost"))}</p>
        {pending > 0 && (
          <>
            <progress aria-label={t("Files uploaded")} value={uploads.length - pending} max={uploads.length} />
            <p className="hint">{t("Keep this window open until all files are sent. You may go to other screens.")}</p>
          </>
        )}
        {count("lost") > 0 && (
          <p className="hint">
            {t("The page was closed before these files were sent. Choose them again to upload them.")}
          </p>
        )}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard can scroll the list only if it has the focus */}
      <section className="upload-scroll" aria-label={t("Files")} tabIndex={0}>
        <ul className="rows">
          {ordered.map((upload) => (
            <UploadRow key={upload.id} upload={upload} botSlug={botSlug} />
          ))}
        </ul>
      </section>
    </section>
  );
}

const ORDER: Readonly<Record<Upload["state"], number>> = {
  failed: 0,
  interrupted: 1,
  lost: 2,
  sending: 3,
  waiting: 4,
  added: 5,
};

function describeTotal(total: number, added: number, failed: number, lost: number): string {
  return [
    t("{part} of {total} uploaded", { part: added, total }),
    ...(failed > 0 ? [plural(failed, "{count} failed", "{count} failed")] : []),
    ...(lost > 0 ? [plural(lost, "{count} not sent", "{count} not sent")] : []),
  ].join(", ");
}

/** Rendered again only if its upload changes: the list may have hundreds of rows. */
const UploadRow = memo(function UploadRow({ upload, botSlug }: { upload: Upload; botSlug: string }) {
  const { name, sentShare, state, problem } = upload;
  const isProblem = !isPending(state) && state !== "added";
  return (
    <li className="row upload">
      <span className={isProblem ? "row-icon error" : "row-icon"}>
        <Icon name={isProblem ? "alert" : state === "added" ? "check" : "file"} />
      </span>
      <span className="row-text">
        <strong>{name}</strong>
        {state === "failed" && <small className="error-text">{problem}</small>}
        {state === "lost" && <small className="error-text">{t("Not sent")}</small>}
        {state === "interrupted" && <Interrupted name={name} botSlug={botSlug} />}
        {state === "added" && <small>{t("Added")}</small>}
        {state === "waiting" && <small>{t("Waiting")}</small>}
        {/* After the last byte is sent, the bar is indeterminate until the service responds. */}
        {state === "sending" && (
          <progress
            aria-label={t("Upload of {name}", { name })}
            value={sentShare < 1 ? sentShare : undefined}
            max={1}
          />
        )}
      </span>
    </li>
  );
});

/** Only the service knows whether it has stored a document whose response did not arrive. */
function Interrupted({ name, botSlug }: { name: string; botSlug: string }) {
  const { workspace_id: workspaceId } = useSession();
  const { data, error } = useQuery(sourceQuery(workspaceId, botSlug, name));
  const updatedAt = data?.source?.updatedAt;
  return (
    <small className="error-text">
      {updatedAt !== undefined &&
        t("Interrupted when the page was closed. The bot's document of this name is of {time}.", {
          time: TIME.format(new Date(updatedAt)),
        })}
      {error && t("Not added: the page was closed while the file was sent.")}
      {!data && !error && t("Interrupted when the page was closed.")}
    </small>
  );
}
