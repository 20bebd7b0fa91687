// The notices about a failed message. The panel loads this file with the first failure.

import { addWords, type ChunkContext } from "../panel/chunk.ts";
import { NOTICES_ENGLISH } from "./english.ts";
import { selectText } from "./select-text.ts";

/** What the visitor reads about a failed message. */
export interface Notice {
  readonly text: string;
  /** Whether to show a button to try again. */
  readonly canRetry: boolean;
}

/** Returns a function that returns the notice of an error code, or of the state `ended`. */
export async function mountNotices(context: ChunkContext): Promise<(code: string) => Notice> {
  const words = await addWords(NOTICES_ENGLISH, context);
  return (code) => {
    const { key, canRetry } = selectText(code);
    return { text: words[key], canRetry };
  };
}
