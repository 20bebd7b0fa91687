/** A text's decoded forms, and the bytes of runs that may be base64 or hexadecimal. */
type Decoded = { texts: string[]; bytes: Buffer[] };

/** Encodings may be nested, for example base64 in percent-encoded JSON. */
const MAX_ROUNDS = 4;
/** Any three bytes or more are rare enough in data that is decoded by chance. */
const MIN_BYTES = 3;
const WHITE_SPACE_ESCAPES = "nrtbf";
/** Names of ASCII punctuation in HTML. */
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", excl: "!", num: "#", dollar: "$", percnt: "%", lpar: "(" },
  ...{ rpar: ")", ast: "*", plus: "+", comma: ",", period: ".", sol: "/", colon: ":", semi: ";", equals: "=" },
  ...{ quest: "?", commat: "@", lsqb: "[", lbrack: "[", bsol: "\\", rsqb: "]", rbrack: "]", Hat: "^", lowbar: "_" },
  ...{ grave: "`", lcub: "{", lbrace: "{", verbar: "|", vert: "|", rcub: "}", rbrace: "}", nbsp: " ", Tab: "\t" },
};

/**
 * Returns whether a text contains one of the secrets in an encoded form: percent-encoded, also in part or repeatedly; with HTML entities; with
 * escapes of JSON or JavaScript; quoted-printable; as base64 or base64url at any alignment, so also within `user:secret`; as hexadecimal
 * digits; in UTF-16 that was read as UTF-8. Also finds nested forms. Does not look for the secrets as they are.
 */
export function containsEncodedSecret(text: string, secrets: readonly string[]): boolean {
  // A secret such as `a%20b` is decoded together with the text in which only another of its characters is encoded.
  const forms = secrets.flatMap((secret) => [secret, ...decodeTexts(secret)]);
  const needles = [...new Set(forms)].filter((form) => Buffer.byteLength(form) >= MIN_BYTES);
  const byteNeedles = needles.flatMap((secret) => [Buffer.from(secret), Buffer.from(secret, "utf16le")]);
  const minBytes = Math.min(...needles.map((needle) => Buffer.byteLength(needle)));
  const seen = new Set([text]);
  let current = [text];
  for (let round = 0; round < MAX_ROUNDS && current.length > 0; round++) {
    const decoded = current.map((each) => decode(each, minBytes));
    if (decoded.some(({ bytes }) => bytes.some((each) => byteNeedles.some((needle) => each.includes(needle)))))
      return true;
    // Bytes that are not text were decoded by chance, or have no further encoding that is looked for.
    const texts = decoded.flatMap((each) => [...each.texts, ...each.bytes.filter(isPrintable).map(String)]);
    if (texts.some((each) => [...secrets, ...needles].some((needle) => each.includes(needle)))) return true;
    current = texts.filter((each) => !seen.has(each) && seen.add(each));
  }
  return false;
}

function decode(text: string, minBytes: number): Decoded {
  return { texts: decodeTexts(text), bytes: [...decodeRuns(text, minBytes)] };
}

function decodeTexts(text: string): string[] {
  return [
    decodePercent(text),
    decodePercent(text.replaceAll("+", " ")),
    decodeEntities(text),
    decodeEscapes(text),
    // A text in UTF-16 that was read as UTF-8.
    text.replaceAll("\0", ""),
  ];
}

/** Also decodes quoted-printable, whose lines may end in `=`. */
function decodePercent(text: string): string {
  return text
    .replaceAll(/=\r?\n/g, "")
    .replaceAll(/(?:[%=][0-9a-f]{2})+/gi, (run) => Buffer.from(run.replaceAll(/[%=]/g, ""), "hex").toString());
}

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));?/gi, (entity, hex, decimal, name) => {
    if (name !== undefined) return (Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined) ?? entity;
    return fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)) ?? entity;
  });
}

function decodeEscapes(text: string): string {
  return text.replaceAll(
    /\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2})|([^ux]))/gi,
    (sequence, braced, unicode, byte, character) => {
      if (character !== undefined) return WHITE_SPACE_ESCAPES.includes(character) ? " " : character;
      return fromCodePoint(Number.parseInt(braced ?? unicode ?? byte, 16)) ?? sequence;
    },
  );
}

function fromCodePoint(code: number): string | undefined {
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined;
}

/** Decodes each run of characters of base64 and of hexadecimal digits at every alignment. Runs may be broken into lines or groups. */
function* decodeRuns(text: string, minBytes: number): Generator<Buffer> {
  for (const run of findRuns(text.replaceAll(/\s/g, ""), /[\w+/-]+/g, Math.floor((minBytes * 4) / 3)))
    for (let start = 0; start < 4; start++) yield Buffer.from(run.slice(start), "base64");
  for (const run of findRuns(text.replaceAll(/0x|\\x|[\s:,-]/gi, ""), /[0-9a-f]+/gi, minBytes * 2))
    for (let start = 0; start < 2; start++) yield Buffer.from(run.slice(start), "hex");
}

function findRuns(text: string, pattern: RegExp, minLength: number): string[] {
  return (text.match(pattern) ?? []).filter((run) => run.length >= minLength);
}

function isPrintable(bytes: Buffer): boolean {
  return bytes.length > 0 && bytes.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 9 && byte <= 13));
}
