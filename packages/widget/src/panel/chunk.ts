import type { renderMarkdown } from "../shared/render-markdown.ts";
import type { PanelContext } from "../shared/types.ts";
import type { Words } from "./words.ts";

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
