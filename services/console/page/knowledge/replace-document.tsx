import type { Source } from "@parley/rpc/conversation";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { knowledge } from "../api/clients.ts";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { uploadSource } from "../api/upload.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { Icon } from "../components/icon.tsx";
import { formatPercent } from "../i18n/numbers.ts";
import { t } from "../i18n/t.tsx";
import { ACCEPTED_FILES, readFile } from "./read-file.ts";

/** Thrown for a file that cannot be a document. */
class UnusableFileError extends Error {}

/** Replaces a document's text. Until the service has read the new text, the bot answers from the old one. */
export function ReplaceDocument({ botSlug, source }: { botSlug: string; source: Source }) {
  const { workspace_id: workspaceId } = useSession();
  const { name, url } = source;
  const input = useRef<HTMLInputElement>(null);
  const [sentShare, setSentShare] = useState(0);
  const announce = useAnnounce();
  const queryClient = useQueryClient();
  const replacing = useMutation({
    /** Fetches the document's URL again if there is no file. */
    mutationFn: async (file: File | undefined) => {
      if (file === undefined) return await knowledge.addSource({ workspaceId, botSlug, name, url });
      const read = await readFile(file);
      if (typeof read === "string") throw new UnusableFileError(read);
      return await uploadSource({ workspaceId, botSlug, name, ...read }, setSentShare);
    },
    onMutate: () => setSentShare(0),
    onSuccess: async (_, file) => {
      announce(
        file === undefined
          ? t("The page was fetched again.")
          : t("The document was replaced with {name}.", { name: file.name }),
      );
      await queryClient.invalidateQueries({ queryKey: sourcesKey(workspaceId, botSlug) });
    },
    onError: (error) =>
      announce(error instanceof UnusableFileError ? error.message : errorText(error), { isError: true }),
  });
  const start = (begin: () => void) => () => {
    if (!replacing.isPending) begin();
  };
  const isUploading = replacing.isPending && replacing.variables !== undefined;
  return (
    <>
      {url !== "" && (
        <button
          type="button"
          className="button"
          aria-disabled={replacing.isPending || undefined}
          onClick={start(() => replacing.mutate(undefined))}
        >
          <Icon name="link" />
          {replacing.isPending && !isUploading ? t("Fetching…") : t("Fetch again")}
        </button>
      )}
      <button
        type="button"
        className="button"
        aria-disabled={replacing.isPending || undefined}
        onClick={start(() => input.current?.click())}
      >
        <Icon name="upload" />
        {isUploading ? t("Replacing… {share}", { share: formatPercent(sentShare) }) : t("Replace")}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={t("File that replaces the document")}
        accept={ACCEPTED_FILES}
        onChange={({ target }) => {
          const [file] = target.files ?? [];
          if (file !== undefined) replacing.mutate(file);
          target.value = "";
        }}
      />
    </>
  );
}
