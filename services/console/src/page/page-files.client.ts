import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The HTML of the console and of the widget's preview, with placeholders. */
export type PageFiles = { console: string; preview: string };

/** Rejects if a file is missing. */
export async function readPageFiles(directory: string): Promise<PageFiles> {
  const [console, preview] = await Promise.all(
    ["index.html", "preview.html"].map((name) => readFile(join(directory, name), "utf8")),
  );
  return { console: console ?? "", preview: preview ?? "" };
}
