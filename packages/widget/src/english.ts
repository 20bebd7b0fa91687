import { GATE_ENGLISH } from "./gate/english.ts";
import { HANDOFF_ENGLISH } from "./handoff/english.ts";
import { HISTORY_ENGLISH } from "./history/english.ts";
import { NOTICES_ENGLISH } from "./notices/english.ts";
import { PANEL_ENGLISH } from "./panel/english.ts";
import { TOOLS_ENGLISH } from "./tools/english.ts";

/**
 * The widget's texts in English. Each file in src/lang has the same keys, and `chat` and `loadFailed`, the launcher's texts. `{n}` is replaced by a number, `{title}` by a document's title, `{name}`
 * by the name of the bot or of a person. No text needs a plural form: the number stands apart from the noun, as in "New messages: 2".
 */
export const ENGLISH = {
  ...PANEL_ENGLISH,
  ...TOOLS_ENGLISH,
  ...GATE_ENGLISH,
  ...NOTICES_ENGLISH,
  ...HISTORY_ENGLISH,
  ...HANDOFF_ENGLISH,
} as const;
