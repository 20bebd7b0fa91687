import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  AddSourceRequestSchema,
  AddSourceResponseSchema,
  KnowledgeAdminService,
  type Source,
} from "@parley/rpc/conversation";
import { errorOf } from "./response-error.ts";
import { NoResponseError, renewSession } from "./session-fetch.ts";

const { addSource } = KnowledgeAdminService.method;
/** Sending a smaller body again costs less than renewing the session before each of many uploads. */
const SMALL_BODY_BYTES = 1024 * 1024;
const URL_PATH = `/api/rpc/${addSource.parent.typeName}/${addSource.name}`;

/**
 * Adds a document. Calls `onProgress` with the uploaded share, from 0 to 1. Uses XMLHttpRequest, because `fetch` does not report the progress of an upload. Throws SignedOutError if the session has ended,
 * ConnectError if the response reports another error, and NoResponseError if no response arrives.
 */
export async function uploadSource(
  request: MessageInitShape<typeof AddSourceRequestSchema>,
  onProgress?: (share: number) => void,
): Promise<Source | undefined> {
  const body = toBinary(AddSourceRequestSchema, create(AddSourceRequestSchema, request));
  // If the token expired during a large upload, the upload would be wasted.
  if (body.length > SMALL_BODY_BYTES) await renewSession();
  let xhr = await send(body, onProgress);
  if (xhr.status === 401) {
    await renewSession();
    xhr = await send(body, onProgress);
  }
  const bytes = new Uint8Array(xhr.response as ArrayBuffer);
  if (xhr.status === 200) return fromBinary(AddSourceResponseSchema, bytes).source;
  throw errorOf(xhr.status, new TextDecoder().decode(bytes), xhr.getResponseHeader("parley-code"));
}

async function send(body: Uint8Array, onProgress: ((share: number) => void) | undefined): Promise<XMLHttpRequest> {
  const xhr = new XMLHttpRequest();
  xhr.open("POST", URL_PATH);
  xhr.responseType = "arraybuffer";
  xhr.setRequestHeader("Content-Type", "application/proto");
  xhr.setRequestHeader("X-Parley-Console", "1");
  if (onProgress) xhr.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
  await new Promise<void>((resolve, reject) => {
    xhr.onload = () => resolve();
    xhr.onerror = () => reject(new NoResponseError());
    xhr.send(body as Uint8Array<ArrayBuffer>);
  });
  return xhr;
}
