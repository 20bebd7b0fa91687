import { Code, ConnectError } from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";

/** Fits the largest request that is not an upload. Applies to the decompressed body. */
const MAX_BODY_BYTES = 1024 * 1024;
/** The admin services speak Connect only. */
const PROTOCOLS = { grpc: false, grpcWeb: false };
/** Options of a service whose calls upload a document of up to 16 MiB. As base64 in JSON, it has about 22 MiB. */
export const UPLOAD_OPTIONS = { ...PROTOCOLS, readMaxBytes: 24 * 1024 * 1024 };

/** Far more than any request needs. A parser uses up to 60 bytes of memory for each byte of nested brackets, and blocks the process meanwhile. */
const MAX_JSON_VALUES = 100_000;
const [BRACKET, BRACE, COMMA] = Buffer.from("[{,");

/** Options of all admin services. They bound the memory and time of parsing a body. For a service with UPLOAD_OPTIONS, only the size limit differs. */
export const BODY_OPTIONS = {
  ...PROTOCOLS,
  readMaxBytes: MAX_BODY_BYTES,
  jsonOptions: {
    ignoreUnknownFields: true,
    textDecoder: {
      decode(bytes: Uint8Array = new Uint8Array()): string {
        if (hasTooManyValues(bytes)) throw new Error(`the message has more than ${MAX_JSON_VALUES} values`);
        return new TextDecoder().decode(bytes);
      },
    },
  },
  // Each unknown field would use memory for an object.
  binaryOptions: { readUnknownFields: false },
  acceptCompression: [compressionGzip, compressionBrotli].map((compression) => ({
    ...compression,
    // A truncated body is the sender's mistake and not an internal error.
    decompress: (bytes: Uint8Array, maxBytes: number) =>
      compression.decompress(bytes, maxBytes).catch((error: ConnectError) => {
        throw error.code === Code.Internal ? new ConnectError(error.rawMessage, Code.InvalidArgument) : error;
      }),
  })),
};

/** Returns whether a JSON body may have too many values. Counts brackets and commas in strings too: no request has that many of them. */
function hasTooManyValues(bytes: Uint8Array): boolean {
  if (bytes.length <= MAX_JSON_VALUES) return false;
  let count = 0;
  for (const byte of bytes) if (byte === BRACKET || byte === BRACE || byte === COMMA) count++;
  return count > MAX_JSON_VALUES;
}
