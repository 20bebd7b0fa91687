import { anySignal } from "../shared/any-signal.ts";
import { rejectOnAbort } from "../shared/pause.ts";
import type { renderMarkdown } from "../shared/render-markdown.ts";
import type { HashedFile, PanelContext } from "../shared/types.ts";
import { loadTexts, type Texts, type Words } from "./words.ts";

/** What a chunk needs of the panel. A chunk is a file that the panel loads when it is first needed. */
export interface ChunkContext extends PanelContext {
  /** The language of the words. */
  readonly lang: string;
  /** The panel's words, and all of the bot's own. */
  readonly words: Words;
  /** Announces a text to screen readers. */
  announce(...lines: readonly string[]): void;
  /** Moves the focus to the text field or, on a touch screen, to the panel. */
  focus(): void;
  readonly renderMarkdown: typeof renderMarkdown;
}

const LOAD_TIMEOUT_MS = 15_000;

/**
 * Loads a chunk. Rejects after 15 s, because a connection may hang, and when a signal is aborted. If the chunk of this panel cannot be loaded, loads
 * the one that the server's manifest names: after an upgrade, a panel that was already open asks for a file that no longer exists. So a chunk must
 * work with the panel of the previous version.
 */
export async function loadChunk<Module>(
  { load, base }: PanelContext,
  file: HashedFile,
  ...signals: readonly AbortSignal[]
): Promise<Module> {
  const loadCurrent = async (error: unknown) => {
    const response = await fetch(`${base}widget/manifest.json`);
    const { modules } = (await response.json()) as { modules: Readonly<Record<string, HashedFile>> };
    const current = modules[file[0].split(".")[0] ?? ""];
    if (!current || current[0] === file[0]) {
      throw error;
    }
    return load?.(current);
  };
  const aborted = rejectOnAbort(anySignal(...signals, AbortSignal.timeout(LOAD_TIMEOUT_MS)));
  return (await Promise.race([load?.(file).catch(loadCurrent), aborted])) as Module;
}

/** Returns the panel's words and those of a chunk. The bot's own words are among the panel's and replace those of the chunk. */
export async function addWords<English extends Readonly<Record<string, string>>>(
  english: English,
  { lang, base, words }: ChunkContext,
): Promise<Words & Texts<English>["words"]> {
  return { ...(await loadTexts(english, lang, base)).words, ...words };
}
