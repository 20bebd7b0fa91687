/** The texts of the sources of a reply, for the files of the tools and of the past conversations. */
export const SOURCES_ENGLISH = {
  sources: "Sources",
  source: "Source {n}: {title}",
} as const;
