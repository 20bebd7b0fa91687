import { Buffer } from "node:buffer";
import { posix } from "node:path";
import { Parser } from "htmlparser2";
import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { UnreadableError } from "../reader-process/unreadable-error.ts";

/** Of all parts that are read. A few kilobytes can unpack to gigabytes. */
const MAX_UNPACKED_BYTES = 100 * 1024 * 1024;
const MAX_PARTS = 10_000;
const MAX_XML_DEPTH = 256;
/** The first bytes of a Compound File: a file of Office 97 to 2003, or an encrypted one of a later version. */
const COMPOUND_FILE = Buffer.from("d0cf11e0a1b11ae1", "hex");
const ENCRYPTED_STREAM = Buffer.from("EncryptedPackage", "utf16le");

export type Attributes = Readonly<Record<string, string>>;

/** Receives the elements and texts of an XML part. Names have no namespace prefix. */
export type XmlHandler = {
  open(name: string, attributes: Attributes): void;
  text?(text: string): void;
  close?(name: string): void;
};

export type Relationship = { id: string; type: string; path: string };

/** A file of Office Open XML (ECMA-376): a ZIP archive of XML parts. Throws UnreadableError if it is malformed or exceeds a limit. */
export class OfficePackage {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  #unpackedBytes = 0;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  static async open(content: Uint8Array): Promise<OfficePackage> {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    if (bytes.subarray(0, COMPOUND_FILE.length).equals(COMPOUND_FILE))
      throw new UnreadableError(bytes.includes(ENCRYPTED_STREAM) ? "locked" : "binary_office");
    return withKnownErrors(async () => {
      const zip = await fromBufferPromise(bytes, { lazyEntries: true, autoClose: false });
      const entries = new Map<string, Entry>();
      for await (const entry of zip.eachEntry()) {
        if (entries.size >= MAX_PARTS) throw new UnreadableError("unpacks");
        entries.set(toKey(entry.fileName), entry);
      }
      return new OfficePackage(zip, entries);
    });
  }

  /** Returns the path of the document or workbook. */
  async findMainPart(): Promise<string> {
    const relationships = await this.readRelationships("");
    const main = relationships.find(({ type }) => type.endsWith("/officeDocument"));
    if (main === undefined || !this.has(main.path)) throw new UnreadableError("broken_office");
    return main.path;
  }

  has(path: string): boolean {
    return this.#entries.has(toKey(path));
  }

  /** Returns the relationships of a part to other parts of the file, not to addresses outside of it. `path` is empty for the file's own. */
  async readRelationships(path: string): Promise<Relationship[]> {
    const folder = posix.dirname(path);
    const relationships: Relationship[] = [];
    await this.readXml(posix.join(folder, "_rels", `${posix.basename(path)}.rels`), {
      open: (name, { Id: id = "", Type: type = "", Target: target = "", TargetMode: mode = "" }) => {
        if (name !== "Relationship" || mode === "External") return;
        const resolved = target.startsWith("/") ? target.slice(1) : posix.join(folder, target);
        relationships.push({ id, type, path: resolved });
      },
    });
    return relationships;
  }

  /** Reads an XML part piece by piece. Reads nothing if the file has no such part. */
  async readXml(path: string, handler: XmlHandler): Promise<void> {
    const entry = this.#entries.get(toKey(path));
    if (entry === undefined) return;
    if (entry.isEncrypted()) throw new UnreadableError("locked");
    await withKnownErrors(async () => {
      const parser = createParser(handler);
      let decoder: InstanceType<typeof TextDecoder> | undefined;
      for await (const data of (await this.#zip.openReadStreamPromise(entry)) as AsyncIterable<Buffer>) {
        this.#unpackedBytes += data.length;
        if (this.#unpackedBytes > MAX_UNPACKED_BYTES) throw new UnreadableError("unpacks");
        decoder ??= new TextDecoder(charsetOf(data));
        parser.write(decoder.decode(data, { stream: true }));
      }
      parser.end();
    });
  }
}

function createParser(handler: XmlHandler): Parser {
  let depth = 0;
  return new Parser(
    {
      onopentag: (name, attributes) => {
        depth++;
        if (depth > MAX_XML_DEPTH) throw new UnreadableError("nested");
        handler.open(withoutPrefix(name), withoutPrefixes(attributes));
      },
      ontext: (text) => handler.text?.(text),
      onclosetag: (name) => {
        depth--;
        handler.close?.(withoutPrefix(name));
      },
      onprocessinginstruction: (name) => {
        if (name.toLowerCase() === "!doctype") throw new UnreadableError("document_type");
      },
    },
    { xmlMode: true },
  );
}

/** Maps the errors of the ZIP and XML libraries. */
async function withKnownErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw error instanceof UnreadableError ? error : new UnreadableError("broken_office", { cause: error });
  }
}

/** The names of parts are compared without case. */
function toKey(path: string): string {
  return path.toLowerCase();
}

function charsetOf(data: Buffer): string {
  const mark = data.readUInt16BE(0);
  if (mark === 0xfffe) return "utf-16le";
  return mark === 0xfeff ? "utf-16be" : "utf-8";
}

function withoutPrefix(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}

function withoutPrefixes(attributes: Attributes): Attributes {
  const entries = Object.entries(attributes);
  if (!entries.some(([name]) => name.includes(":"))) return attributes;
  return Object.fromEntries(entries.map(([name, value]) => [withoutPrefix(name), value]));
}
