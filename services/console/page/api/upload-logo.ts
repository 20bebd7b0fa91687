import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { BotAdminService, UploadLogoRequestSchema, UploadLogoResponseSchema } from "@parley/rpc/conversation";
import { toConnectError } from "./response-error.ts";
import { fetchWithSession } from "./session-fetch.ts";

const { uploadLogo: method } = BotAdminService.method;

/** Uploads a logo as binary protobuf, because JSON would be larger. Returns its URL. Throws like fetchWithSession, and ConnectError. */
export async function uploadLogo(request: MessageInitShape<typeof UploadLogoRequestSchema>): Promise<string> {
  const response = await fetchWithSession(`/api/rpc/${method.parent.typeName}/${method.name}`, {
    method: "POST",
    headers: { "Content-Type": "application/proto" },
    body: toBinary(UploadLogoRequestSchema, create(UploadLogoRequestSchema, request)) as Uint8Array<ArrayBuffer>,
  });
  if (!response.ok) throw await toConnectError(response);
  const { path } = fromBinary(UploadLogoResponseSchema, new Uint8Array(await response.arrayBuffer()));
  const edgeUrl = document.querySelector<HTMLMetaElement>("meta[name=parley-edge]")?.content ?? "";
  return `${edgeUrl}${path}`;
}
