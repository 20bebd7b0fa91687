import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useMemo, useSyncExternalStore } from "react";
import { errorText } from "../api/error-text.ts";
import { useSession } from "../api/session.ts";
import { sourcesKey } from "../api/source-queries.ts";
import { uploadSource } from "../api/upload.ts";
import { useAnnounce } from "../components/announcements.tsx";
import { plural, t } from "../i18n/t.tsx";
import { readFile } from "./read-file.ts";
import { UploadStore, type UploadTarget } from "./upload-store.ts";

/** How often the list of documents is read again during uploads. */
const REFRESH_INTERVAL_MS = 2_000;
const MAX_ANNOUNCED_PROBLEMS = 3;

const store = new UploadStore({ send: sendFile, onEnd: refreshSoon, storage: sessionStorage });
// The browser asks before it closes the page, because it then forgets the files that were not sent.
window.addEventListener("beforeunload", (event) => {
  if (store.hasPending()) event.preventDefault();
});
window.addEventListener("pagehide", () => store.persist());

async function sendFile(
  target: UploadTarget,
  file: File,
  onProgress: (share: number) => void,
): Promise<string | undefined> {
  const read = await readFile(file);
  if (typeof read === "string") return read;
  const [workspaceId, botSlug] = splitTarget(target);
  try {
    await uploadSource({ workspaceId, botSlug, name: file.name, ...read }, onProgress);
    return undefined;
  } catch (failure) {
    return errorText(failure);
  }
}

function splitTarget(target: UploadTarget): [workspaceId: string, botSlug: string] {
  const [workspaceId = "", botSlug = ""] = target.split("/");
  return [workspaceId, botSlug];
}

/** The page's query client. It is set before the first upload. */
let queryClient: QueryClient | undefined;
const refreshTimers = new Map<UploadTarget, ReturnType<typeof setTimeout>>();

function refreshSoon(target: UploadTarget): void {
  if (refreshTimers.has(target)) return;
  const refresh = () => {
    refreshTimers.delete(target);
    void refreshSources(target);
  };
  refreshTimers.set(target, setTimeout(refresh, REFRESH_INTERVAL_MS));
}

async function refreshSources(target: UploadTarget): Promise<void> {
  await queryClient?.invalidateQueries({ queryKey: sourcesKey(...splitTarget(target)) });
}

function describeResult(count: number, problems: readonly string[]): string {
  const added = count - problems.length;
  if (problems.length === 0) return plural(added, "The document was added.", "{count} documents were added.");
  return [
    ...(count === 1
      ? []
      : [
          plural(count, "{part} of {count} document was added.", "{part} of {count} documents were added.", {
            part: added,
          }),
        ]),
    ...problems.slice(0, MAX_ANNOUNCED_PROBLEMS),
    ...(problems.length > MAX_ANNOUNCED_PROBLEMS ? [t("The list of uploads has the other problems.")] : []),
  ].join(" ");
}

/** Returns the uploads for a bot since the list was cleared, and functions that change them. */
export function useUploads(botSlug: string) {
  const { workspace_id: workspaceId } = useSession();
  const target: UploadTarget = `${workspaceId}/${botSlug}`;
  const uploads = useSyncExternalStore(store.subscribe, () => store.list(target));
  const announce = useAnnounce();
  queryClient = useQueryClient();
  return useMemo(() => {
    const announceEnd = async (count: number, ended: Promise<string[]>) => {
      const problems = await ended;
      announce(describeResult(count, problems), { isError: problems.length > 0 });
      await refreshSources(target);
    };
    return {
      uploads,
      canRetry: store.canRetry(target),
      addFiles: (files: readonly File[]) => {
        // Empty if the owner dropped text instead of files.
        if (files.length > 0) void announceEnd(files.length, store.add(target, files));
      },
      retryFailed: () => {
        const count = uploads.filter(({ state }) => state === "failed").length;
        void announceEnd(count, store.retryFailed(target));
      },
      clear: () => store.clear(target),
    };
  }, [uploads, target, announce]);
}
