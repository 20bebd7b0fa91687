import { charsetByMark } from "./text.ts";

/** The labels of UTF-16 in the Encoding Standard. */
const UTF_16 = /^(utf-16(le|be)?|unicode(feff|fffe)?|ucs-2|iso-10646-ucs-2|csunicode)$/i;
const XML_DECLARATION = /^\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)/i;
const META_ELEMENT = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)/i;
/** Of a text in UTF-16 that has mostly ASCII, about half of the bytes are 0. */
const MIN_ZEROS_SHARE = 0.25;
const MAX_SHOWN_CHARACTERS = 40;

export type TextKind = {
  /** The Content-Type of a response; empty without one. */
  contentType: string;
  /** Whether the text is an HTML document, whose meta element can name the charset. */
  isHtml: boolean;
};

/** A text whose charset TextDecoder does not support. Its message may be shown to a user. */
export class UnknownCharsetError extends Error {
  constructor(charset: string, options?: ErrorOptions) {
    super(`the text has an unknown charset, ${charset.slice(0, MAX_SHOWN_CHARACTERS)}`, options);
    this.name = "UnknownCharsetError";
  }
}

/**
 * Decodes a text by its charset. Throws UnknownCharsetError. If `fatal` is set, throws a TypeError if the content is not valid in its charset;
 * otherwise U+FFFD replaces what is not valid.
 */
export function decodeText(content: Uint8Array, kind: TextKind, options: { fatal?: boolean } = {}): string {
  const charset = detectCharset(content, kind);
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(charset, options);
  } catch (cause) {
    throw new UnknownCharsetError(charset, { cause });
  }
  return decoder.decode(content);
}

/**
 * Returns the charset of a text, in the order of the HTML standard: by its byte order mark, by the Content-Type, by an XML declaration or an
 * HTML document's meta element. Else it is UTF-16 if every other byte is mostly 0, which no other text has, or UTF-8.
 */
export function detectCharset(content: Uint8Array, { contentType, isHtml }: TextKind): string {
  const named = /charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1];
  return charsetByMark(content) ?? named ?? charsetByDeclaration(content, isHtml) ?? charsetByZeros(content) ?? "utf-8";
}

function charsetByZeros(content: Uint8Array): string | undefined {
  const head = content.subarray(0, 1_024);
  const zeros = [0, 0];
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  if (even + odd < MIN_ZEROS_SHARE * head.length || (even > 0 && odd > 0)) return undefined;
  return odd > 0 ? "utf-16le" : even > 0 ? "utf-16be" : undefined;
}

function charsetByDeclaration(content: Uint8Array, isHtml: boolean): string | undefined {
  const head = new TextDecoder("latin1").decode(content.subarray(0, 1_024));
  const charset = (XML_DECLARATION.exec(head) ?? (isHtml ? META_ELEMENT.exec(head) : null))?.[1];
  // A text whose declaration can be read as ASCII is not UTF-16. The standard reads it as UTF-8.
  return charset !== undefined && UTF_16.test(charset) ? "utf-8" : charset;
}
