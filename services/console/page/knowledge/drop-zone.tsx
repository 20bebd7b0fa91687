import { DOCUMENT_FORMATS, isTextFormat, maxSizeOf } from "@parley/rpc/documents";
import { type DragEvent, useId, useRef, useState } from "react";
import { Icon } from "../components/icon.tsx";
import { formatExtensions } from "../i18n/extensions.ts";
import { T, t } from "../i18n/t.tsx";
import { ACCEPTED_FILES } from "./read-file.ts";

const TEXT_FORMATS = DOCUMENT_FORMATS.filter(isTextFormat);
const OTHER_FORMATS = DOCUMENT_FORMATS.filter((format) => !isTextFormat(format));

export function DropZone({ onFiles }: { onFiles: (files: File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const id = useId();
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    onFiles([...event.dataTransfer.files]);
  };
  const dragOver = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same without a mouse
    <div
      className={isOver ? "drop-zone over" : "drop-zone"}
      onDragOver={dragOver}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Icon name="upload" />
      <p>
        <T
          text="Drop files here, or {chooseFiles}"
          chooseFiles={
            <button type="button" className="link-button" aria-describedby={id} onClick={() => input.current?.click()}>
              {t("choose files")}
            </button>
          }
        />
      </p>
      <p id={id} className="hint">
        {t(
          "{textFiles} up to {textLimit} MiB, {otherFiles} up to {otherLimit} MiB. A file with the same name as a document replaces that document.",
          {
            textFiles: formatExtensions(TEXT_FORMATS),
            textLimit: maxSizeOf("txt").mebibytes,
            otherFiles: formatExtensions(OTHER_FORMATS),
            otherLimit: maxSizeOf("pdf").mebibytes,
          },
        )}
      </p>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={ACCEPTED_FILES}
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          target.value = "";
        }}
      />
    </div>
  );
}
