import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetLogoRequest, GetLogoResponseSchema } from "@parley/rpc/conversation";
import { findOnShards, notFound, type Shard } from "@parley/service-kit";
import { findLogo } from "./logos.store.ts";

const HASH = /^[0-9a-f]{64}$/;

export async function handleGetLogo(
  shards: readonly Shard[],
  { hash }: Pick<GetLogoRequest, "hash">,
): Promise<MessageInitShape<typeof GetLogoResponseSchema>> {
  const logo = HASH.test(hash) ? await findOnShards(shards, ({ database }) => findLogo(database, hash)) : undefined;
  if (logo === undefined) throw notFound("logo_not_found", "no such logo");
  return logo;
}
