import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { errorText } from "../api/error-text.ts";
import { sourcesQuery } from "../api/queries.ts";
import { useSession } from "../api/session.ts";
import { uploadSource } from "../api/upload.ts";
import { useAnnounce } from "../components/announcements.tsx";

const MIB = 1024 * 1024;
const MAX_PDF_BYTES = 16 * MIB;
const MAX_TEXT_BYTES = 4 * MIB;
const FORMAT_BY_EXTENSION: Readonly<Record<string, string>> = {
  txt: "txt",
  md: "md",
  markdown: "md",
  html: "html",
  htm: "html",
  pdf: "pdf",
};

export type Upload = {
  id: number;
  name: string;
  /** From 0 to 1. */
  sentShare: number;
  /** `done` if the upload succeeded or failed. */
  state: "waiting" | "sending" | "done";
  /** Why the document was not added. */
  problem?: string;
};

let nextUploadId = 1;

let lastUpload: Promise<unknown> = Promise.resolve();

/**
 * Runs an upload when all earlier ones have ended, including those for other bots. Each replica of the console and of the conversation service
 * processes one large upload per workspace at a time. If a large upload waits too long for another one, the replica refuses it.
 */
function runAfterPrevious<Result>(upload: () => Promise<Result>): Promise<Result> {
  const result = lastUpload.then(upload);
  lastUpload = result.catch(() => undefined);
  return result;
}

function checkSize(file: File, format: string): string | undefined {
  if (file.size === 0) return "The file is empty.";
  const limit = format === "pdf" ? MAX_PDF_BYTES : MAX_TEXT_BYTES;
  return file.size > limit ? `The file is larger than ${limit / MIB} MiB.` : undefined;
}

function describeResult(count: number, problems: readonly string[]): string {
  const added = count - problems.length;
  if (problems.length === 0) return added === 1 ? "The document was added." : `${added} documents were added.`;
  return [...(count === 1 ? [] : [`${added} of ${count} documents were added.`]), ...problems].join(" ");
}

/** Returns the uploads since the screen was opened, newest first, and functions that upload files and remove finished uploads from the list. */
export function useUploads(botSlug: string) {
  const { workspace_id: workspaceId } = useSession();
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const queryClient = useQueryClient();
  const announce = useAnnounce();
  const update = (id: number, change: Partial<Upload>) =>
    setUploads((before) => before.map((each) => (each.id === id ? { ...each, ...change } : each)));

  /** Uploads a file. Returns the problem, or undefined if its document was added. */
  const sendFile = async (file: File, id: number): Promise<string | undefined> => {
    const format = FORMAT_BY_EXTENSION[file.name.split(".").at(-1)?.toLowerCase() ?? ""];
    if (format === undefined) return "Only .txt, .md, .html and .pdf files can be read.";
    const problem = checkSize(file, format);
    if (problem !== undefined) return problem;
    update(id, { state: "sending" });
    const content = await file.arrayBuffer().catch(() => undefined);
    if (content === undefined) return "The file cannot be read. It may be a folder, or have been moved or changed.";
    try {
      const source = { workspaceId, botSlug, name: file.name, format, content: new Uint8Array(content) };
      await uploadSource(source, (sentShare) => update(id, { sentShare }));
      return undefined;
    } catch (failure) {
      return errorText(failure);
    }
  };

  const addFiles = async (files: readonly File[]) => {
    // Empty if the owner dropped text instead of files.
    if (files.length === 0) return;
    const entries = files.map((file) => ({ file, id: nextUploadId++ }));
    const rows = entries.map(({ file, id }): Upload => ({ id, name: file.name, sentShare: 0, state: "waiting" }));
    setUploads((before) => [...rows, ...before]);
    const problems: string[] = [];
    const addFile = async (file: File, id: number) => {
      const problem = await sendFile(file, id);
      update(id, { state: "done", sentShare: 1, ...(problem !== undefined && { problem }) });
      if (problem !== undefined) problems.push(`${file.name}: ${problem}`);
      await queryClient.invalidateQueries(sourcesQuery(workspaceId, botSlug));
    };
    await Promise.all(entries.map(({ file, id }) => runAfterPrevious(() => addFile(file, id))));
    announce(describeResult(files.length, problems), { isError: problems.length > 0 });
  };

  const clearFinished = () => setUploads((before) => before.filter(({ state }) => state !== "done"));
  return { uploads, addFiles, clearFinished };
}
