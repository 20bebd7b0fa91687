// What the bundler fills in, and how it hands over style sheets.

declare module "*.css" {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: an imported style sheet is its default export, in every bundler
  export default text;
}

/** The panel's file under /widget/ and its integrity hash; in the launcher alone. */
declare const PANEL: import("./shared/types.ts").HashedFile;

/** The hash in the names of the languages' files, and the languages there are; in the panel alone. */
declare const LANGUAGES: readonly [hash: string, offered: readonly string[]];
