// Constants that build.ts defines, and the type of imported style sheets.

declare module "*.css" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: bundlers export a style sheet as the default export
  export default text;
}

/** The panel's file. Defined only in the launcher's bundle. */
declare const PANEL: import("./shared/types.ts").HashedFile;

/** The launcher's labels that are not the English word, by language. Defined only in the launcher's bundle. */
declare const LABELS: Readonly<Record<string, string>>;

/** The file with the controls below a reply. Defined only in the panel's bundle. */
declare const TOOLS: import("./shared/types.ts").HashedFile;

/** The file for a person who answers. Defined only in the bundle of TOOLS. */
declare const HANDOFF: import("./shared/types.ts").HashedFile;

/** The file for what a visitor has to pass before a message is accepted. Defined only in the panel's bundle. */
declare const GATE: import("./shared/types.ts").HashedFile;

/** The file with the notices about failed messages. Defined only in the panel's bundle. */
declare const NOTICES: import("./shared/types.ts").HashedFile;

/** The file for the past conversations. Defined only in the panel's bundle. */
declare const HISTORY: import("./shared/types.ts").HashedFile;

/** The part of the language files' names after the language, and the languages. Each bundle but the launcher's has its own. */
declare const LANGUAGES: readonly [version: string, languages: readonly string[]];
