const MiB = 1024 * 1024;
const MAX_TEXT_MIB = 4;
const MAX_BINARY_MIB = 16;

type FormatFacts = {
  /** Without the dot. The first is the usual one. */
  extensions: readonly [string, ...string[]];
  mediaTypes: readonly string[];
  isText: boolean;
};

const FACTS = {
  txt: { extensions: ["txt", "text"], mediaTypes: ["text/plain"], isText: true },
  md: { extensions: ["md", "markdown"], mediaTypes: ["text/markdown", "text/x-markdown"], isText: true },
  html: { extensions: ["html", "htm"], mediaTypes: ["text/html", "application/xhtml+xml"], isText: true },
  csv: { extensions: ["csv"], mediaTypes: ["text/csv", "application/csv"], isText: true },
  tsv: { extensions: ["tsv", "tab"], mediaTypes: ["text/tab-separated-values"], isText: true },
  docx: {
    extensions: ["docx"],
    mediaTypes: ["application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
    isText: false,
  },
  xlsx: {
    extensions: ["xlsx"],
    mediaTypes: ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
    isText: false,
  },
  pdf: { extensions: ["pdf"], mediaTypes: ["application/pdf"], isText: false },
} as const satisfies Record<string, FormatFacts>;

/** A format of documents, as in AddSourceRequest. */
export type DocumentFormat = keyof typeof FACTS;

export const DOCUMENT_FORMATS = Object.keys(FACTS) as readonly DocumentFormat[];

const factsOf = (format: DocumentFormat): FormatFacts => FACTS[format];

const FORMAT_BY_EXTENSION: ReadonlyMap<string, DocumentFormat> = new Map(
  DOCUMENT_FORMATS.flatMap((format) => factsOf(format).extensions.map((extension) => [extension, format] as const)),
);
const FORMAT_BY_MEDIA_TYPE: ReadonlyMap<string, DocumentFormat> = new Map(
  DOCUMENT_FORMATS.flatMap((format) => factsOf(format).mediaTypes.map((type) => [type, format] as const)),
);

/** All file name extensions of documents, with the dot. */
export const DOCUMENT_EXTENSIONS = [...FORMAT_BY_EXTENSION.keys()].map((extension) => `.${extension}`);

export const DOCUMENT_MEDIA_TYPES = [...FORMAT_BY_MEDIA_TYPE.keys()];

/** Returns a file's format by the extension of its name or path. Undefined if there is none or it is unsupported. */
export function formatOfName(name: string): DocumentFormat | undefined {
  return FORMAT_BY_EXTENSION.get(/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "");
}

/** Returns the format of a media type in lower case, without parameters. Undefined if it is unsupported. */
export function formatOfMediaType(type: string): DocumentFormat | undefined {
  return FORMAT_BY_MEDIA_TYPE.get(type);
}

/** Returns whether a format is text in some charset, not bytes. */
export function isTextFormat(format: DocumentFormat): boolean {
  return factsOf(format).isText;
}

/** Returns the usual extension of each format, with the dot. */
export function listExtensions(formats: readonly DocumentFormat[] = DOCUMENT_FORMATS): string[] {
  return formats.map((format) => `.${factsOf(format).extensions[0]}`);
}

/** Returns the largest size of a document. A text's size is that of its UTF-8. */
export function maxSizeOf(format: DocumentFormat): { mebibytes: number; bytes: number } {
  const mebibytes = isTextFormat(format) ? MAX_TEXT_MIB : MAX_BINARY_MIB;
  return { mebibytes, bytes: mebibytes * MiB };
}

/** The largest size of any document. */
export const MAX_DOCUMENT_BYTES = MAX_BINARY_MIB * MiB;
